"""Async generators of a run are closed by the run, those of the host by the host."""

from __future__ import annotations

import asyncio
import gc
import sys
from typing import TYPE_CHECKING

from fusee.loop.asyncgens import AsyncgenHooks
from tests.support.loop_host import Run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


async def numbers(seen: list[str], name: str) -> AsyncIterator[int]:
    try:
        for number in range(3):
            yield number
    finally:
        await asyncio.sleep(0)
        seen.append(f"{name} closed on {type(asyncio.get_running_loop()).__name__}")


async def takes_one(seen: list[str], name: str) -> None:
    async for _ in numbers(seen, name):
        break
    seen.append(f"{name} left")


async def takes_all(seen: list[str], name: str) -> None:
    async for _ in numbers(seen, name):
        pass


def test_an_abandoned_generator_waits_for_the_end_of_the_run() -> None:
    seen: list[str] = []

    async def workflow() -> None:
        await takes_one(seen, "first")
        await takes_one(seen, "second")
        await asyncio.sleep(1)

    async def main() -> None:
        before = sys.get_asyncgen_hooks()
        hooks = AsyncgenHooks()
        hooks.ensure()
        run = Run(workflow())
        gc.collect()
        run.finish()
        assert seen == ["first left", "second left"]
        run.loop.create_task(run.loop.shutdown_asyncgens())
        run.turn()
        run.loop.close()
        hooks.restore()
        assert sys.get_asyncgen_hooks() == before
        await takes_one(seen, "host's")
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    asyncio.run(main())
    host = asyncio.new_event_loop()
    host.close()
    assert seen == [
        "first left",
        "second left",
        "second closed on LoudLoop",
        "first closed on LoudLoop",
        "host's left",
        f"host's closed on {type(host).__name__}",
    ]


def test_generators_of_the_host_pass_through_the_hooks() -> None:
    seen: list[str] = []

    async def main() -> None:
        hooks = AsyncgenHooks()
        hooks.ensure()
        await takes_one(seen, "host's")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        hooks.restore()

    asyncio.run(main())
    assert len(seen) == 2


def test_finished_generators_are_let_go() -> None:
    seen: list[str] = []

    async def workflow() -> None:
        for _ in range(200):
            await takes_all(seen, "all")

    hooks = AsyncgenHooks()
    hooks.ensure()
    try:
        run = Run(workflow())
    finally:
        hooks.restore()
    assert run.task.done()
    assert len(seen) == 200
    assert len(run.loop.run_asyncgens) < 40
    assert run.loop.run_asyncgens.unfinished() == []
