"""One flush in flight, and the next takes everything: counted in flushes, not in seconds."""

from __future__ import annotations

import asyncio
from statistics import median

import pytest

import fusee
from fusee import Context, workflow
from tests.support.counting import count_up
from tests.support.crash_device import CrashDevice
from tests.support.engines import engine_of, formatted
from tests.support.facts import batch_of
from tests.support.held_writes import SlowDisk

TICKS = 200


@workflow
async def parked(ctx: Context) -> None:
    await ctx.wait_for("never")


async def _load(starts_a_tick: float) -> tuple[float, float]:
    """Start runs at a rate, whatever the disk does; return the median wait and starts a flush."""
    disk = SlowDisk()
    waits: list[int] = []

    async def start(engine: fusee.Engine, number: int) -> None:
        begun = disk.now
        await engine.start(parked, f"run-{number}")
        waits.append(disk.now - begun)

    async with disk.engine([parked]) as engine:
        starting: set[asyncio.Task[None]] = set()
        due = 0.0
        for _ in range(TICKS):
            due += starts_a_tick
            while len(starting) + 1 <= due:
                starting.add(asyncio.create_task(start(engine, len(starting))))
            await disk.tick()
        flushes = disk.flushes
        acknowledged = len(waits)
        while len(waits) < len(starting):
            await disk.tick()
        await disk.drain()
        closing = asyncio.ensure_future(engine.close())
        while not closing.done():
            await disk.tick()
    return median(waits) / disk.flush_ticks, acknowledged / flushes


def test_a_flush_carries_more_as_load_grows_and_nobody_waits_for_more_than_two():
    rates = (0.2, 1, 5, 20)
    found = [asyncio.run(_load(rate)) for rate in rates]
    for wait, _ in found:
        assert 1 <= wait <= 2, found
    carried = [starts for _, starts in found]
    for (rate, starts), (next_rate, next_starts) in zip(
        zip(rates, carried, strict=True), list(zip(rates, carried, strict=True))[1:], strict=False
    ):
        assert next_starts / starts == pytest.approx(next_rate / rate, rel=0.35), found


@fusee.step(read_only=True)
async def look(number: int) -> int:
    return number + 1


@workflow
async def look_twice_then_act(ctx: Context) -> int:
    first = await ctx.step(look, 1)
    second = await ctx.step(look, first)
    return await ctx.step(act, second)


seen_at_act: list[int] = []
batches: list[int] = []


async def act(number: int) -> int:
    seen_at_act.append(len(batches))
    return number


def test_two_read_only_steps_and_then_one_with_effects_cost_one_flush():
    async def main() -> None:
        device = formatted(CrashDevice())
        device.told.append(lambda *write: batches.append(1) if batch_of(*write) else None)
        async with engine_of(device, [look_twice_then_act]) as engine:
            for number in range(5):
                batches.clear()
                assert await engine.run(look_twice_then_act, f"run-{number}") == 3
        assert seen_at_act == [1] * 5

    asyncio.run(main())


def test_an_iteration_of_the_loop_makes_at_most_one_write():
    frames: list[bool] = []

    async def main() -> None:
        device = formatted(CrashDevice())
        async with engine_of(device, [count_up]) as engine:
            pump, node = engine.life.pump, engine.life.assembly.node
            iterations, written = pump.iterations, node.batches_written
            device.told.append(lambda *write: frames.append(write[0].startswith("segment-")))
            await asyncio.gather(*(engine.run(count_up, f"run-{n}", 10) for n in range(100)))
            iterations = pump.iterations - iterations
            assert node.batches_written - written <= iterations
            assert sum(frames) <= 1.1 * iterations
            assert iterations < 100 * 10, "runs share iterations"

    asyncio.run(main())
