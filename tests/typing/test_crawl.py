"""The fan-out of the documentation: gather of sequences, sync and async steps, retries."""

from __future__ import annotations

import asyncio

import fusee
from fusee import Context, Engine, Retry, workflow


@fusee.step(read_only=True, retry=Retry(4, initial="1ms"), timeout="20s")
async def fetch(url: str) -> bytes:
    if "broken" in url:
        raise ConnectionError(url)
    return b"one two three"


def word_count(page: bytes) -> int:  # sync: runs in Fusee's own thread pool
    return len(page.split())


@workflow
async def crawl(ctx: Context, urls: list[str]) -> dict[str, int | str]:
    async def one(url: str) -> tuple[str, int | str]:
        try:
            page = await ctx.step(fetch, url)
            return url, await ctx.step(word_count, page)
        except fusee.RetriesExhausted as e:
            return url, f"gave up after {e.attempts}: {e.last}"

    return dict(await asyncio.gather(*(one(u) for u in urls)))


async def main() -> dict[str, int | str]:
    async with Engine.open(":memory:", workflows=[crawl]) as engine:
        return await engine.run(crawl, "crawl-1", ["a", "broken", "b"])


def test_each_page_is_counted_and_a_broken_one_given_up() -> None:
    assert asyncio.run(main()) == {"a": 3, "broken": "gave up after 4: broken", "b": 3}
