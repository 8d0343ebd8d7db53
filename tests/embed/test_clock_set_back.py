"""Where the wall clock is behind the log, time goes on, slower, and the operator hears of it."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from fusee import Context, Engine, workflow
from fusee.embed.assembly import Assembly, assemble_on
from fusee.embed.programs import Registry
from fusee.io.clock import SystemClock
from fusee.io.directory import Directory
from tests.support.aio import in_loop
from tests.support.counting import count_up
from tests.support.devices import open_device
from tests.support.worlds import MORNING_US, StillClock, opened


class SetBack(SystemClock):
    def __init__(self, by_s: int) -> None:
        self.by_us = by_s * 1_000_000

    def wall_us(self) -> int:
        return super().wall_us() - self.by_us


@workflow
async def naps(ctx: Context) -> float:
    before = ctx.now()
    await asyncio.sleep(0.016)
    return (ctx.now() - before).total_seconds()


def opened_behind(path: Path, by_s: int) -> Engine:
    def assemble(_: Any, wake: Any) -> Assembly:
        return assemble_on(open_device(path), Directory.acquire(path), SetBack(by_s), wake)

    return Engine(assemble, Registry([count_up, naps]))


async def reports(path: Path, by_s: int) -> tuple[str, ...]:
    async with opened_behind(path, by_s) as engine:
        await engine.run(count_up, f"run-{by_s}", 1)
        return engine.life.assembly.reports


@pytest.mark.parametrize(("by_s", "heard"), [(3600, "3,600 s behind"), (1, "")])
def test_opening_with_a_clock_that_was_set_back_is_reported(
    tmp_path: Path, by_s: int, heard: str
) -> None:
    @in_loop
    async def scenario() -> None:
        assert await reports(tmp_path, 0) == ()

        found = " ".join(await reports(tmp_path, by_s))

        assert heard in found
        assert bool(heard) == bool(found)

    scenario()


def test_a_sleep_ends_though_the_clock_is_an_hour_behind_the_log(tmp_path: Path) -> None:
    @in_loop
    async def scenario() -> None:
        await reports(tmp_path, 0)
        async with opened_behind(tmp_path, 3600) as engine:
            slept_s = await asyncio.wait_for(engine.run(naps, "nap"), 30)
        assert slept_s >= 0.016

    scenario()


class Adjustable(StillClock):
    """Its wall clock can be set; the other one only goes on."""

    passed_us = 0

    def monotonic_ns(self) -> int:
        return self.passed_us * 1000


@in_loop
async def test_slowed_time_never_goes_back_and_the_clock_catches_up_with_it() -> None:
    clock = Adjustable()
    async with opened(naps, clock=clock) as world:
        node = world.node
        assert node.now_us() == MORNING_US
        seen: list[int] = []
        for passed_us in range(16 * 600 + 100):
            clock.now_us = MORNING_US - 600 + passed_us
            clock.passed_us = passed_us
            seen.append(node.now_us())

        assert seen == sorted(seen)
        assert max(b - a for a, b in pairwise(seen)) <= 1
        assert seen[1600] == MORNING_US + 1500
        assert seen[-1] == clock.now_us
