"""The device of one process: the simulated disk, with time, and with points where it may die.

Whoever watches is told of each write at the moment it has become durable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.testing.device import InFlight, SimDevice
from fusee.testing.disk import units_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fusee.testing.process import Process

SLOW_SHARE = 0.01
SLOW_TIMES = 30


class ProcessDevice(SimDevice):
    """`fusee.testing.device.SimDevice` of a process in a world."""

    def __init__(self, process: Process) -> None:
        settings = process.world.settings
        super().__init__(
            process.world.disk,
            is_buffered=settings.is_buffered,
            garbage=settings.garbage,
            flush_ns=settings.flush_ns,
        )
        self._process = process
        self._world = process.world
        self._writes = 0

    def write_us(self) -> int:
        """Draw how long a write takes: mostly as calibrated, now and then much longer."""
        random = self._process.random
        slow = SLOW_TIMES if random.random() < SLOW_SHARE else 1
        return int(self.flush_ns / 1000 * slow * (0.7 + 0.6 * random.random()))

    def write(self, file: str, offset: int, data: bytes | memoryview) -> None:
        """Write and make durable; time passes meanwhile."""
        in_flight = self.begin(file, offset, data)
        self._world.scheduler.spend(self.write_us())
        self.complete(in_flight)

    def begin(self, file: str, offset: int, data: bytes | memoryview) -> InFlight:
        """Put a write in flight."""
        self._process.point("before-write")
        return super().begin(file, offset, data)

    def complete(self, write: InFlight) -> None:
        """Let a write land, fail, or be cut off by the end of the process."""
        process, world = self._process, self._world
        process.point("in-write")
        self._writes += 1
        if self.failure is None and world.plan.fails(process.number, self._writes):
            world.marks.hit("fault:write-error")
            self.fail_after(0, process.random)
        try:
            super().complete(write)
        except OSError:
            world.trace.add(world.now_us, "write fails", write.name, write.offset)
            raise
        world.trace.add(world.now_us, "durable", write.name, write.offset, len(write.data))
        world.watcher.on_durable(process, write.name, write.offset, write.data)
        process.point("after-write")

    def read(self, file: str, offset: int, size: int) -> bytes:
        """Read; whoever watches is told of damage in it."""
        platter = self._world.disk.names.get(file)
        if platter is not None and platter.damaged and not self.is_off:
            asked = units_of(offset, size)
            for unit in [unit for unit in platter.damaged if unit in asked]:
                self._world.watcher.on_damage_read(self._process, platter.number, unit)
        return super().read(file, offset, size)

    def create(self, file: str, chunks: Iterable[bytes | memoryview]) -> None:
        """Make a whole file appear."""
        self._process.point("before-write")
        super().create(file, chunks)
        self._world.trace.add(self._world.now_us, "create", file)
        self._process.point("after-write")

    def rename(self, old: str, new: str) -> None:
        """Rename durably."""
        self._process.point("before-write")
        super().rename(old, new)
        self._world.trace.add(self._world.now_us, "rename", old, new)
        self._process.point("after-write")
