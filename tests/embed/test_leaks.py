"""Finished runs leave a compact row behind, and nothing else."""

from __future__ import annotations

import _weakrefset
import asyncio
import tracemalloc

import pytest

from fusee import Context, Engine, Retry, Signal, workflow
from tests.support.counting import add_one, count_up
from tests.support.crash_device import CrashDevice
from tests.support.engines import engine_of, formatted
from tests.support.remains import journal_bytes, remains

FINISHED_BYTES_MAX = 300
STEP_BYTES_MAX = 1
"""Zero, and what rounding to whole objects makes of it."""
BATCH = 200
hello = Signal[str]("hello")


class Refused(Exception):
    """For a first attempt."""


failed_once: set[str] = set()


async def fail_once(run: str) -> str:
    if run not in failed_once:
        failed_once.add(run)
        raise Refused(run)
    failed_once.discard(run)
    return run


def double(number: int) -> int:
    return 2 * number


@workflow
async def everything(ctx: Context, name: str) -> int:
    """Touch all that could stay behind: timers, threads, tasks, waits, cancelled operations."""
    ctx.on_query("state")(lambda: name)
    await ctx.options(retry=Retry(2, initial=0.001), timeout=60).step(fail_once, name)
    async with asyncio.timeout(60):
        numbers = await asyncio.gather(ctx.step(double, 1), ctx.step(add_one, 1), ctx.sleep(0.001))
    await asyncio.wait_for(ctx.wait_for(hello), 60)
    forgotten = asyncio.create_task(asyncio.sleep(3600))
    forgotten.cancel()
    asyncio.get_running_loop().call_later(3600, print)
    return sum(n for n in numbers if n)


async def _run_everything(engine: Engine, names: list[str]) -> None:
    runs = await asyncio.gather(*(engine.start(everything, name, name) for name in names))
    await asyncio.gather(*(run.signal(hello, "you") for run in runs))
    assert await asyncio.gather(*(run.result() for run in runs)) == [4] * len(names)
    await runs[0].query("state")


async def _count_up(engine: Engine, prefix: str, runs: int, steps: int) -> None:
    for first in range(0, runs, BATCH):
        names = [f"{prefix}-{n}" for n in range(first, first + BATCH)]
        await asyncio.gather(*(engine.run(count_up, name, steps) for name in names))


def test_nothing_of_a_finished_run_stays_alive():
    async def main() -> None:
        async with Engine.open(
            ":memory:", workflows=[everything, count_up], sync_threads=2
        ) as engine:
            await _run_everything(engine, [f"warm-{n}" for n in range(20)])
            await _count_up(engine, "first", BATCH, 1)
            before = await remains()
            for block in range(5):
                await _run_everything(engine, [f"{block}-{n}" for n in range(50)])
            await _count_up(engine, "count", 10_000, 10)
            after = await remains()
            assert not engine.life.core.timers.live
        assert after <= before, {k: after[k] - before[k] for k in after if after[k] != before[k]}

    asyncio.run(main())


def test_closing_leaves_nothing_of_the_engine_behind():
    async def main() -> None:
        async def once() -> None:
            async with Engine.open(":memory:", workflows=[everything]) as engine:
                await _run_everything(engine, ["one", "two"])
                await engine.start(everything, "open", "open")

        await once()
        before = await remains()
        for _ in range(10):
            await once()
        after = await remains()
        assert after <= before, {k: after[k] - before[k] for k in after if after[k] != before[k]}

    asyncio.run(main())


def _grown() -> int:
    """Return what was allocated and is in use, but for asyncio's own set of all tasks.

    That set keeps the size of its fullest moment, which depends on where its tasks lie.
    """
    own = tracemalloc.Filter(False, _weakrefset.__file__)
    traces = tracemalloc.take_snapshot().filter_traces([own]).traces
    return sum(trace.size for trace in traces)


async def _bytes_a_run(runs: int, steps: int) -> float:
    """Return what a finished run costs in memory beyond its encoded journal."""
    async with Engine.open(":memory:", workflows=[count_up]) as engine:
        await _count_up(engine, "warm", BATCH, steps)
        await remains()
        tracemalloc.start()
        try:
            journals = journal_bytes(engine)
            await _count_up(engine, "count", runs, steps)
            await remains()
            # The newest batches are kept for readers, up to a bound: no run's own. How many there
            # are depends on how busy the machine was.
            engine.life.assembly.node.storage._batches.clear()
            return (_grown() - (journal_bytes(engine) - journals)) / runs
        finally:
            tracemalloc.stop()


@pytest.mark.slow
def test_a_finished_run_costs_few_bytes_beyond_its_journal_and_a_step_costs_none():
    short = asyncio.run(_bytes_a_run(1_000, 10))
    long = asyncio.run(_bytes_a_run(1_000, 20))
    assert short <= FINISHED_BYTES_MAX
    assert (long - short) / 10 <= STEP_BYTES_MAX


@pytest.mark.slow
def test_a_finished_run_found_in_the_log_costs_no_more():
    async def main() -> float:
        runs = 2_000
        device = formatted(CrashDevice())
        async with engine_of(device, [count_up]) as engine:
            await _count_up(engine, "count", runs, 3)
        disk = device.survivor()
        await remains()
        tracemalloc.start()
        try:
            async with engine_of(disk, [count_up]) as engine:
                await remains()
                return (_grown() - journal_bytes(engine)) / runs
        finally:
            tracemalloc.stop()

    # The engine itself is in this figure too, over few runs.
    assert asyncio.run(main()) <= FINISHED_BYTES_MAX + 100
