"""A sleep of no time: other tasks of the run go on, and the journal knows nothing of it."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from fusee import Context, Engine, workflow


@workflow
async def takes_turns(ctx: Context, duration: float) -> list[str]:
    seen: list[str] = []

    async def talker(name: str) -> None:
        for _ in range(2):
            seen.append(name)
            await ctx.sleep(timedelta(seconds=duration))

    await asyncio.gather(talker("a"), talker("b"))
    return seen


@workflow
async def gives_up(ctx: Context) -> str:
    nothing = ctx.sleep(0)
    nothing.cancel()
    try:
        await nothing
    except asyncio.CancelledError:
        return "cancelled"
    return "slept"


@pytest.mark.parametrize("duration", [0, -5])
def test_a_sleep_of_no_time_lets_others_run_and_records_nothing(duration: float) -> None:
    async def main() -> None:
        async with Engine.open(":memory:", workflows=[takes_turns]) as engine:
            assert await engine.run(takes_turns, "w", duration) == ["a", "b", "a", "b"]
            assert await engine.get(takes_turns, "w").journal() == []

    asyncio.run(main())


def test_a_sleep_of_no_time_can_be_cancelled() -> None:
    async def main() -> None:
        async with Engine.open(":memory:", workflows=[gives_up]) as engine:
            assert await engine.run(gives_up, "w") == "cancelled"

    asyncio.run(main())
