"""A wall clock that is behind the log holds time flat, and the operator hears of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fusee import Engine
from fusee.embed.assembly import Assembly, assemble_on
from fusee.embed.programs import Registry
from fusee.io.calibration import open_device
from fusee.io.clock import SystemClock
from fusee.io.directory import Directory
from tests.support.aio import in_loop
from tests.support.counting import count_up


class SetBack(SystemClock):
    def __init__(self, by_s: int) -> None:
        self.by_us = by_s * 1_000_000

    def wall_us(self) -> int:
        return super().wall_us() - self.by_us


async def reports(path: Path, by_s: int) -> tuple[str, ...]:
    def assemble(_: Any, wake: Any) -> Assembly:
        return assemble_on(open_device(path), Directory.acquire(path), SetBack(by_s), wake)

    async with Engine(assemble, Registry([count_up])) as engine:
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
