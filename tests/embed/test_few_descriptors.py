"""A process without a descriptor left, while an engine is open: nothing stops or is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fusee import Context, DirectoryRefused, Engine, workflow
from fusee.base.limits import MIB
from fusee.io.calibration import calibrate
from tests.support.aio import in_loop, until
from tests.support.descriptors import no_descriptors_left


async def fetch(size_bytes: int) -> str:
    return "x" * size_bytes


@workflow
async def fetches(ctx: Context, times: int, size_bytes: int) -> int:
    return sum([len(await ctx.step(fetch, size_bytes)) for _ in range(times)])


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A directory in use, by code whose modules have all been imported."""

    async def use() -> None:
        async with Engine.open(tmp_path, workflows=[fetches]) as engine:
            await engine.run(fetches, "first", 2, 10)

    asyncio.run(use())
    return tmp_path


def test_the_first_write_after_an_open_needs_no_descriptor(directory: Path) -> None:
    @in_loop
    async def claim() -> None:
        async with Engine.open(directory, workflows=[fetches]) as engine:
            with no_descriptors_left():
                assert await engine.run(fetches, "w", 3, 10) == 30
            assert engine.stopped is None

    claim()


def test_a_segment_that_cannot_be_made_now_is_made_later_and_what_waits_for_it_goes_on(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def told() -> list[str]:
        texts = [record.getMessage() for record in caplog.records]
        return [text for text in texts if "segment cannot be made" in text]

    @in_loop
    async def claim() -> None:
        async with Engine.open(directory, workflows=[fetches]) as engine:
            with no_descriptors_left():
                # More than what is left of the first segment.
                run = asyncio.ensure_future(engine.run(fetches, "w", 6, MIB))
                log = engine.life.assembly.log
                assert log is not None
                await until(lambda: bool(told()) and log._held is not None)
                assert engine.stopped is None
                assert not run.done()

            assert await run == 6 * MIB
            assert engine.stopped is None
        async with Engine.open(directory, workflows=[fetches]) as engine:
            assert await engine.get(fetches, "w").result() == 6 * MIB

    claim()
    assert len(told()) == 1
    assert "Too many open files" in told()[0]


def test_an_engine_that_cannot_open_its_files_is_refused_and_can_be_opened_later(
    directory: Path,
) -> None:
    calibrate(directory)

    @in_loop
    async def claim() -> None:
        engine = Engine.open(directory, workflows=[fetches])
        with no_descriptors_left(), pytest.raises(DirectoryRefused):
            await engine.__aenter__()
        async with Engine.open(directory, workflows=[fetches]) as again:
            assert await again.get(fetches, "first").result() == 20

    claim()
