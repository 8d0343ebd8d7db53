"""How many step functions run at a time: bounded, first come first served."""

from __future__ import annotations

import asyncio
import threading

import pytest

from fusee import Context, Engine, workflow
from fusee.record.kinds import Completed, Outcome
from tests.support.aio import in_loop, spin, until
from tests.support.steps import Held
from tests.support.worlds import opened

held = Held()


def triple(x: int) -> int:
    return 3 * x


@workflow
async def many(ctx: Context, count: int) -> int:
    return len(await asyncio.gather(*(ctx.step(held, f"many {i}") for i in range(count))))


@in_loop
async def test_at_most_async_steps_functions_run_at_a_time_first_come_first_served() -> None:
    held.calls.clear()
    async with opened(many, async_steps=2) as world:
        run = await world.engine.start(many, "w", 5)
        for i in range(5):
            await world.settle()
            assert held.calls == [f"many {j}" for j in range(min(i + 2, 5))]
            held.give(f"many {i}", None)
        assert await run.result() == 5


order: list[int] = []
release = threading.Semaphore(0)


def blocks(i: int) -> None:
    order.append(i)
    release.acquire()


@workflow
async def many_blocking(ctx: Context, count: int) -> int:
    return len(await asyncio.gather(*(ctx.step(blocks, i) for i in range(count))))


@in_loop
async def test_at_most_sync_threads_functions_run_at_a_time_first_come_first_served() -> None:
    order.clear()
    async with opened(many_blocking, sync_threads=2) as world:
        run = await world.engine.start(many_blocking, "w", 6)
        while len(order) < 2:
            await asyncio.sleep(0)
        await spin(50)
        assert sorted(order) == [0, 1]
        for begun in range(2, 6):
            release.release()
            await until(lambda begun=begun: len(order) > begun)
        release.release(2)
        assert await run.result() == 6
        assert order[2:] == [2, 3, 4, 5], "a thread that is free takes the oldest"


@workflow
async def sync_one(ctx: Context) -> int:
    return await ctx.step(triple, 1)


@in_loop
async def test_more_sync_steps_than_any_queue_takes_wait_and_finish() -> None:
    """10,000 may wait in the pool's own queue; the runs beyond that must not stop the engine."""
    async with opened(many_sync, sync_threads=2) as world:
        assert await world.engine.run(many_sync, "w", 10_500) == 3 * 10_500


@workflow
async def many_sync(ctx: Context, count: int) -> int:
    return sum(await asyncio.gather(*(ctx.step(triple, 1) for _ in range(count))))


@in_loop
async def test_outcomes_are_recorded_once_with_the_attempt_that_brought_them() -> None:
    async with opened(sync_one) as world:
        assert await world.engine.run(sync_one, "w") == 3
        (done,) = world.records(Completed)
        assert (done.position, done.outcome, done.attempt, done.delivered) == (
            1, Outcome.VALUE, 1, True,
        )  # fmt: skip


def test_engine_bounds_are_checked_at_open() -> None:
    for bad in ({"sync_threads": 0}, {"async_steps": -1}, {"sync_threads": 2.5}):
        with pytest.raises(ValueError, match="a whole number of at least 1"):
            Engine.open(":memory:", workflows=[], **bad)  # type: ignore[arg-type]
