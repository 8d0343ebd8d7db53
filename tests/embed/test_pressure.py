"""Large results on their way: what waits for its turn or for the disk is bounded, and goes on."""

from __future__ import annotations

import asyncio
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from fusee import Context, Engine, Signal, workflow
from fusee.base.limits import MIB, STOP_STEPS_BYTES
from fusee.engine.commitlog import Pressure
from fusee.node.memory_log import MemoryLog
from tests.support.aio import in_loop, spin, until
from tests.support.steps import Held
from tests.support.worlds import HeldLog, World, opened

COUNT = 64
calls: list[int] = []
go: Signal[None] = Signal[None]("go")
held = Held()


async def at_once(number: int) -> str:
    calls.append(number)
    return "x" * MIB


async def later(number: int) -> str:
    await asyncio.sleep(0)
    return "x" * 3_100_000


def in_thread(number: int) -> str:
    return "x" * 3_100_000


@workflow
async def gathers(ctx: Context, step: str) -> int:
    function: Any = {"at_once": at_once, "later": later, "in_thread": in_thread}[step]
    return sum(map(len, await asyncio.gather(*(ctx.step(function, n) for n in range(COUNT)))))


@workflow
async def asks_for_much(ctx: Context) -> None:
    """One turn after another that appends, without any function."""
    for _ in range(COUNT):
        ctx.options(read_only=True).step(held, "x" * MIB)
        await ctx.wait_for(go)
    await ctx.wait_for(go)


@pytest.fixture(autouse=True)
def _fresh() -> None:
    calls.clear()


def weight(world: World) -> int:
    return world.node.tickets.bytes_uncommitted


async def write_all(storage: HeldLog, run: asyncio.Future[Any]) -> None:
    while not run.done():
        await spin(1)
        if storage.held:
            storage.release()


@in_loop
async def test_no_function_starts_while_too_many_results_wait_and_all_run_in_the_end() -> None:
    storage = HeldLog()
    async with opened(gathers, storage=storage) as world:
        run = asyncio.ensure_future(world.engine.run(gathers, "w", "at_once"))
        await world.settle()
        storage.release()  # The start, and that steps were called.
        await spin(50)
        await world.settle()

        limit = STOP_STEPS_BYTES // MIB
        assert len(calls) <= 2 * limit + 2, "once more what waits for its turn"
        assert world.node.pressure is Pressure.STOP_STEPS
        assert weight(world) <= STOP_STEPS_BYTES + 2 * MIB

        await write_all(storage, run)

        assert await run == COUNT * MIB
        assert sorted(calls) == list(range(COUNT))
        assert world.node._bytes_arrived == 0
        await world.settle()
        assert world.node.pressure is Pressure.NONE


@in_loop
async def test_no_turn_is_run_while_too_much_waits_for_the_disk() -> None:
    storage = HeldLog()
    async with opened(asks_for_much, storage=storage) as world:
        started = asyncio.ensure_future(world.engine.start(asks_for_much, "w"))
        await world.settle()
        storage.release()
        await started
        signals = [
            asyncio.ensure_future(world.engine.get("", "w").signal(go, None)) for _ in range(COUNT)
        ]
        await spin(200)

        assert STOP_STEPS_BYTES < weight(world) <= STOP_STEPS_BYTES + 2 * MIB
        assert world.core.ready, "a turn waits"
        iterations = world.engine.life.pump.iterations
        await spin(20)
        assert world.engine.life.pump.iterations == iterations, "nobody turns meanwhile"

        def all_ran() -> bool:
            return len(held.calls) == COUNT and weight(world) == 0

        await write_all(storage, asyncio.ensure_future(until(all_ran)))
        await asyncio.gather(*signals)


@in_loop
async def test_results_that_nobody_will_be_handed_weigh_nothing() -> None:
    @workflow(hold_on=(ValueError,))
    async def is_held(ctx: Context) -> None:
        first, _ = ctx.step(at_once, 1), ctx.step(at_once, 2)
        await first
        raise ValueError

    async with opened(is_held) as world:
        await world.engine.start(is_held, "w")
        await world.settle()

        assert world.held("w") is not None
        assert world.node._bytes_arrived == 0


@in_loop
async def test_the_newest_batches_kept_in_memory_have_a_bound_of_bytes() -> None:
    async with opened(gathers) as world:
        await world.engine.run(gathers, "w", "at_once")

        assert isinstance(world.storage, MemoryLog)
        assert sum(len(batch.data) for batch in world.storage._batches) <= 16 * MIB


@pytest.mark.slow
@pytest.mark.serial
@pytest.mark.parametrize("step", ["later", "in_thread"])
def test_a_gather_of_large_results_takes_little_more_than_they_and_their_journal(
    step: str, tmp_path: Path
) -> None:
    async def main() -> None:
        async with Engine.open(tmp_path, workflows=[gathers]) as engine:
            assert await engine.run(gathers, "w", step) == COUNT * 3_100_000

    tracemalloc.start()
    try:
        asyncio.run(main())
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    results_bytes = COUNT * 3_100_000
    encoder_slack_bytes = results_bytes // 2  # Reserved for payloads, and never touched.
    assert peak_bytes <= 2 * results_bytes + encoder_slack_bytes + STOP_STEPS_BYTES
