"""The disk is measured beside the application's loop, and the directory is ours meanwhile."""

from __future__ import annotations

import asyncio
import functools
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from fusee import Context, DirectoryLocked, Engine, workflow
from fusee.embed.assembly import assemble_directory
from fusee.embed.programs import Registry
from fusee.io.calibration import Calibration, identify_disk, recall
from fusee.io.directory import Directory, _held
from fusee.io.file_device import FileDevice
from tests.support.aio import in_loop, spin, until


class Later:
    """Work beside the loop, which begins when the test says so."""

    def __init__(self, *, hangs: bool = False) -> None:
        self.work: Callable[[], None] | None = None
        self._hangs = hangs

    def __call__(self, work: Callable[[], None], name: str) -> Later:
        self.work = work
        return self

    def begin(self) -> None:
        assert self.work is not None
        threading.Thread(target=self.work).start()

    def join(self, timeout: float | None = None) -> None:
        if not self._hangs:
            assert self.work is not None
            self.work()


@workflow
async def returns(ctx: Context) -> str:
    return "done"


def engine_on(path: Path, later: Later) -> Engine:
    return Engine(functools.partial(assemble_directory, path, run_aside=later), Registry([returns]))


def check_locked(path: Path) -> None:
    with pytest.raises(DirectoryLocked):
        Directory.acquire(path)


def test_the_application_goes_on_while_the_disk_is_measured(tmp_path: Path) -> None:
    @in_loop
    async def claim() -> None:
        later = Later()
        opening = asyncio.ensure_future(engine_on(tmp_path, later).__aenter__())
        await until(lambda: later.work is not None)
        await spin(20)
        assert not opening.done()
        check_locked(tmp_path)

        later.begin()

        engine = await opening
        assert await engine.run(returns, "w") == "done"
        await engine.close()

    claim()


def test_an_opening_that_is_cancelled_leaves_nothing_behind(tmp_path: Path) -> None:
    @in_loop
    async def claim() -> None:
        later = Later()
        opening = asyncio.ensure_future(engine_on(tmp_path, later).__aenter__())
        await until(lambda: later.work is not None)

        opening.cancel()

        with pytest.raises(asyncio.CancelledError):
            await opening
        assert sorted(os.listdir(tmp_path)) == ["calibration.json", "lock"]
        async with Engine.open(tmp_path, workflows=[returns]) as engine:
            assert await engine.run(returns, "w") == "done"

    claim()


def test_a_measurement_that_never_returns_keeps_the_directory_from_others(tmp_path: Path) -> None:
    @in_loop
    async def claim() -> None:
        later = Later(hangs=True)
        opening = asyncio.ensure_future(engine_on(tmp_path, later).__aenter__())
        await until(lambda: later.work is not None)

        opening.cancel()

        with pytest.raises(asyncio.CancelledError):
            await opening
        with pytest.raises(DirectoryLocked, match="until this process"):
            Directory.acquire(tmp_path)

    claim()
    (kept,) = (directory for directory in _held.values() if directory.path == tmp_path)
    kept.withheld_because = ""
    kept.release()


def test_the_device_writes_in_the_way_that_was_measured(tmp_path: Path) -> None:
    @in_loop
    async def claim() -> None:
        async with Engine.open(tmp_path, workflows=[returns]) as engine:
            device = engine.life.assembly.device
            assert isinstance(device, FileDevice)
            measured = recall(tmp_path, identify_disk(tmp_path))
            assert isinstance(measured, Calibration)
            assert (device.method, device.flush_ns) == (measured.method, measured.flush_ns)

    claim()
