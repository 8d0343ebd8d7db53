"""A disk whose writes take a fixed number of ticks, and whose clock the test turns by hand."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Iterable
from typing import Any

from fusee.embed.assembly import Assembly, assemble_on
from fusee.embed.engine import Engine
from fusee.embed.programs import Registry
from fusee.io.submitter import OnDone, Submitter
from fusee.sdk.workflow import Workflow
from tests.support.crash_device import CrashDevice
from tests.support.engines import formatted
from tests.support.world import SMALL


class HeldSubmitter(Submitter):
    """Keeps each write until it is released."""

    held: tuple[str, int, bytes, OnDone] | None = None

    def submit(self, file: str, offset: int, data: bytes | memoryview, on_done: OnDone) -> None:
        assert self.held is None, "one write in flight"
        self.held = (file, offset, bytes(data), on_done)

    def release(self) -> None:
        assert self.held is not None
        (file, offset, data, on_done), self.held = self.held, None
        self._device.write(file, offset, data)
        on_done(None)


class SlowDisk:
    """An engine's disk on which a write takes `flush_ticks`."""

    def __init__(self, flush_ticks: int = 10) -> None:
        self.now = 0
        self.flushes = 0
        self.flush_ticks = flush_ticks
        self.device = formatted(CrashDevice(flush_ns=500_000))
        self._submitter: HeldSubmitter | None = None
        self._due = 0

    def engine(self, workflows: Iterable[Workflow[Any, Any]]) -> Engine:
        return Engine(self._assemble, Registry(workflows), drain_s=1.0)

    def _assemble(self, clock: Any, wake: Any) -> Assembly:
        make = functools.partial(assemble_on, self.device, None, sizes=SMALL)
        assembly = make(clock, wake, make_submitter=HeldSubmitter)
        assert isinstance(assembly.submitter, HeldSubmitter)
        self._submitter = assembly.submitter
        return assembly

    async def settle(self) -> None:
        """Let the loop turn until whatever can happen without the disk has happened."""
        for _ in range(12):
            await asyncio.sleep(0)

    async def tick(self) -> None:
        """One tick passes; a write that is due completes."""
        submitter = self._submitter
        assert submitter is not None
        await self.settle()
        if submitter.held is None:
            self._due = 0
        elif not self._due:
            self._due = self.now + self.flush_ticks
        self.now += 1
        if self._due and self.now >= self._due:
            self._due = 0
            self.flushes += 1
            submitter.release()
        await self.settle()

    async def drain(self) -> None:
        """Complete what is left, so that the engine can close."""
        submitter = self._submitter
        assert submitter is not None
        while submitter.held is not None:
            await self.tick()
