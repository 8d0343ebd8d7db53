"""One process on a simulated disk: a `fusee.log.device.Device` that fails when it is told to.

    device = SimDevice(disk)
    device.write(file, offset, data)                 # at once, as an inline submitter does
    in_flight = device.begin(file, offset, data)     # or in two halves, with time between:
    device.complete(in_flight)                       # durable now, or OSError

    device.crash(random)        # power is lost: what is in flight lands in part, and is gone
    device.power_off()          # the process is gone; nothing in flight lands
    disk.clone()                # what is on the platters now, in-flight writes not begun

After `crash` or `power_off` every call raises `PowerLost`, so that whatever the process still
tries has no effect. Any number of writes may be in flight; each lands on its own.

Faults are set for calls to come. "Changing calls" are writes (counted when they complete),
creates and renames.

    crash_after(calls, random)           power is lost inside a later changing call
    fail_after(calls, random, code)      a later changing call fails; nothing is written after
    lose_after(calls)                    a later write is reported and never done; adds up
    misdirect_after(calls, distance)     a later write lands so many bytes further on
    fail_read_after(reads)               a later read fails, once
    misread_after(reads, random)         one block of a later read is its neighbour's, once
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Protocol

from fusee.base.limits import BLOCK_SIZE, UNIT_SIZE
from fusee.testing.disk import UNFINISHED, Landing, land_part, units_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

    from fusee.testing.disk import Disk, File

_NEVER = -1


class PowerLost(BaseException):
    """The process is gone; nothing it would have done next happens."""


class InFlight:
    """A write that has been handed to the disk. `before` is what its place holds so far."""

    __slots__ = ("before", "data", "file", "name", "offset")

    def __init__(self, name: str, file: File, offset: int, data: bytes) -> None:
        self.name = name
        self.file = file
        self.offset = offset
        self.data = data
        self.before = bytes(file.image[offset : offset + len(data)])


class Watcher(Protocol):
    """Hears what a process asks of its disk, before any fault has its way."""

    def began(self, write: InFlight) -> None:
        """A write was handed over."""
        ...

    def completed(self, write: InFlight) -> None:
        """The write is about to be reported as durable."""
        ...

    def creating(self, name: str, content: bytes) -> None:
        """A file is about to appear; its number is not known yet."""
        ...

    def created(self, name: str, file: File) -> None:
        """The file is there, whether or not its maker lives to hear of it."""
        ...

    def renaming(self, old: str, new: str, file: File) -> None:
        """A file is about to get another name."""
        ...


class SimDevice:
    """The device of one process. It ends with the process; the disk stays."""

    def __init__(
        self,
        disk: Disk,
        *,
        watcher: Watcher | None = None,
        is_buffered: bool = False,
        garbage: float = 0.0,
        flush_ns: int = 0,
    ) -> None:
        self.disk = disk
        self.is_off = False
        self.failure: OSError | None = None
        self.is_buffered = is_buffered
        self.garbage = garbage
        """Probability that a write cut off by a crash leaves one unit unusable."""
        self.in_flight: list[InFlight] = []
        self.call_count = 0
        self.misread: list[tuple[int, int, int]] = []
        """Number of the file, offset and size of what was read from the wrong place."""
        self.failed_reads: list[tuple[int, int, int]] = []
        """The same of reads that failed once."""
        self.landings: list[tuple[str, int, Landing]] = []
        """How writes landed that were cut off or failed: file, offset, how."""
        self.struck = ""
        """What kind of call power was lost in: "write", "create", "rename", or nothing."""
        self.done: list[str] = []
        """Faults that were set and have happened."""
        self.lies = 0
        """How many writes were reported as done and are not where they belong."""
        self._watcher = watcher
        self._flush_ns = flush_ns
        self._buffer = bytearray(BLOCK_SIZE)
        self._cache: dict[tuple[int, int], bytes] = {}
        self._read_count = 0
        self._crash_at = self._fail_at = self._misdirect_at = _NEVER
        self._fail_read_at = self._misread_at = _NEVER
        self._lose_at: set[int] = set()
        self._crash_random: Random | None = None
        self._fail_random: Random | None = None
        self._misread_random: Random | None = None
        self._fail_code = errno.EIO
        self._distance = 0

    # ------------------------------------------------------------ faults to come

    def crash_after(self, calls: int, random: Random) -> None:
        """Lose power inside the changing call after `calls` more of them."""
        self._crash_at = self.call_count + calls
        self._crash_random = random

    def fail_after(self, calls: int, random: Random, code: int = errno.EIO) -> None:
        """Let the changing call after `calls` more fail, having landed in part.

        A buffered device then shows the new data to readers until the process ends, although
        the disk may not have it: the page cache calls the pages clean.
        """
        self._fail_at = self.call_count + calls
        self._fail_random = random
        self._fail_code = code

    def lose_after(self, calls: int) -> None:
        """Report the write after `calls` more changing calls, and never do it."""
        self._lose_at.add(self.call_count + calls)

    def misdirect_after(self, calls: int, distance: int) -> None:
        """Let the write after `calls` more changing calls land `distance` bytes further on."""
        self._misdirect_at = self.call_count + calls
        self._distance = distance

    def fail_read_after(self, reads: int) -> None:
        """Let the read after `reads` more fail once."""
        self._fail_read_at = self._read_count + reads

    def misread_after(self, reads: int, random: Random) -> None:
        """Let the read after `reads` more return its neighbour's content in one block, once."""
        self._misread_at = self._read_count + reads
        self._misread_random = random

    def no_more_faults(self) -> None:
        """Forget what was set and has not happened."""
        self._crash_at = self._fail_at = self._misdirect_at = _NEVER
        self._fail_read_at = self._misread_at = _NEVER
        self._lose_at.clear()

    # ------------------------------------------------------------ the end of the process

    def crash(self, random: Random, garbage: float | None = None) -> None:
        """Lose power: each write in flight lands in part, on its own, and the process is gone."""
        self._check_alive()
        share = self.garbage if garbage is None else garbage
        for write in self.in_flight:
            landing = land_part(self.disk, write.name, write.offset, write.data, random, share)
            if any(unit in write.file.damaged for unit in units_of(write.offset, len(write.data))):
                self.done.append("crash-garbage")
            self.landings.append((write.name, write.offset, landing))
        self.power_off()

    def power_off(self) -> None:
        """End the process; writes in flight do not land."""
        self.is_off = True
        self.in_flight.clear()
        self._cache.clear()

    def _check_alive(self) -> None:
        if self.is_off:
            raise PowerLost

    def _lose_power(self, where: str) -> PowerLost:
        assert self._crash_random is not None
        self.struck = where
        self.crash(self._crash_random)
        return PowerLost(where)

    # ------------------------------------------------------------ writing

    @property
    def flush_ns(self) -> int:
        """Calibrated time of one durable write in nanoseconds."""
        return self._flush_ns

    def buffer(self, size: int) -> memoryview:
        """Return scratch memory, valid until the next call."""
        assert size % BLOCK_SIZE == 0
        if len(self._buffer) < size:
            self._buffer = bytearray(size)
        return memoryview(self._buffer)[:size]

    def write(self, file: str, offset: int, data: bytes | memoryview) -> None:
        """Write durably; raises OSError when told to, once and for all."""
        self.complete(self.begin(file, offset, data))

    def begin(self, file: str, offset: int, data: bytes | memoryview) -> InFlight:
        """Hand a write to the disk. Nothing of it is durable; `data` may be reused at once.

        Raises OSError if an earlier call has failed: nothing is written after a failure.
        """
        self._check_writable()
        assert not (offset | len(data)) % BLOCK_SIZE, "whole blocks"
        platter = self.disk.names[file]
        assert offset + len(data) <= len(platter.image), "a write never grows a file"
        write = InFlight(file, platter, offset, bytes(data))
        self.in_flight.append(write)
        if self._watcher is not None:
            self._watcher.began(write)
        return write

    def complete(self, write: InFlight) -> None:
        """Let a write land whole and report it; or fail, lie or lose power, as was set."""
        self._check_alive()
        if self.failure is not None:
            self.in_flight.remove(write)
            raise self._after_failure()
        call = self._count("write")
        if call == self._fail_at:
            self._fail_write(write)
        self.in_flight.remove(write)
        if self._watcher is not None:
            self._watcher.completed(write)
        write.file.put(write.offset, write.data)
        if call in self._lose_at:
            self.done.append("lost-write")
            self._lose(write)
        if call == self._misdirect_at:
            self.done.append("misdirected-write")
            self._lose(write)
            place = (write.offset + self._distance) % len(write.file.image)
            self.disk.misdirect(write.name, place, write.data)

    def _lose(self, write: InFlight) -> None:
        self.lies += 1
        for start in range(0, len(write.before), UNIT_SIZE):
            older = write.before[start : start + UNIT_SIZE]
            self.disk.lose(write.name, (write.offset + start) // UNIT_SIZE, older)

    def _fail_write(self, write: InFlight) -> None:
        assert self._fail_random is not None
        landing = land_part(self.disk, write.name, write.offset, write.data, self._fail_random)
        self.landings.append((write.name, write.offset, landing))
        if self.is_buffered:
            for start in range(0, len(write.data), BLOCK_SIZE):
                place = (write.file.number, write.offset + start)
                self._cache[place] = write.data[start : start + BLOCK_SIZE]
        self.in_flight.remove(write)
        raise self._fail()

    def _fail(self) -> OSError:
        self.failure = OSError(self._fail_code, "injected")
        self.done.append("write-error")
        return self.failure

    def _check_writable(self) -> None:
        self._check_alive()
        if self.failure is not None:
            raise self._after_failure()

    def _after_failure(self) -> OSError:
        return OSError(errno.EIO, f"nothing is written after a failure ({self.failure})")

    def _count(self, where: str) -> int:
        """Return the number of this changing call; lose power if it is the one to do so."""
        call = self.call_count
        self.call_count = call + 1
        if call == self._crash_at:
            raise self._lose_power(where)
        return call

    # ------------------------------------------------------------ names

    def create(self, file: str, chunks: Iterable[bytes | memoryview]) -> None:
        """Make a whole file appear. A crash leaves the old state or the new, never a mixture."""
        content = bytearray().join(chunks)
        self._check_writable()
        if self._watcher is not None:
            self._watcher.creating(file, bytes(content))
        random = self._crash_random
        try:
            call = self._count("create")
        except PowerLost:
            assert random is not None
            if random.random() < 0.5:
                self._appear(file, content)
            else:
                self.disk.add(file + UNFINISHED, content[: int(random.random() * len(content))])
            raise
        if call == self._fail_at:
            raise self._fail()
        self._appear(file, content)

    def _appear(self, file: str, content: bytearray) -> None:
        self.disk.names.pop(file + UNFINISHED, None)
        made = self.disk.add(file, content)
        if self._watcher is not None:
            self._watcher.created(file, made)

    def rename(self, old: str, new: str) -> None:
        """Rename durably, replacing `new`; a crash leaves the one name or the other."""
        self._check_writable()
        names = self.disk.names
        if self._watcher is not None:
            self._watcher.renaming(old, new, names[old])
        try:
            call = self._count("rename")
        except PowerLost:
            assert self._crash_random is not None
            if self._crash_random.random() < 0.5:
                names[new] = names.pop(old)
            raise
        if call == self._fail_at:
            assert self._fail_random is not None
            if self._fail_random.random() < 0.5:
                names[new] = names.pop(old)
            raise self._fail()
        names[new] = names.pop(old)

    def size(self, file: str) -> int:
        """Return the file's size in bytes, -1 when there is none."""
        self._check_alive()
        platter = self.disk.names.get(file)
        return -1 if platter is None else len(platter.image)

    def files(self) -> list[str]:
        """Return the names of all finished files, sorted."""
        self._check_alive()
        return sorted(name for name in self.disk.names if not name.endswith(UNFINISHED))

    def free_bytes(self) -> int:
        """Return how many bytes the file system still has, as the disk was told to say."""
        self._check_alive()
        return self.disk.free_bytes

    def close(self) -> None:
        """Do nothing: the disk stays as it is."""

    # ------------------------------------------------------------ reading

    def read(self, file: str, offset: int, size: int) -> bytes:
        """Read whole blocks; OSError where a unit cannot be read."""
        self._check_alive()
        assert not (offset | size) % BLOCK_SIZE, "whole blocks"
        platter = self.disk.names.get(file)
        if platter is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", file)
        number = self._read_count
        self._read_count = number + 1
        if number == self._fail_read_at:
            self.done.append("read-error")
            self.failed_reads.append((platter.number, offset, size))
            raise OSError(errno.EIO, "injected", file)
        if not platter.can_read(offset, size):
            raise OSError(errno.EIO, "unreadable unit", file)
        if not self._cache and number != self._misread_at:
            with memoryview(platter.image) as image:
                return bytes(image[offset : offset + size])  # One copy, for scans of megabytes.
        data = platter.image[offset : offset + size]
        if self._cache:
            for (owner, start), block in self._cache.items():
                if owner == platter.number and offset <= start < offset + len(data):
                    data[start - offset : start - offset + BLOCK_SIZE] = block
        if number == self._misread_at:
            self._misread(platter, offset, data)
        return bytes(data)

    def _misread(self, platter: File, offset: int, data: bytearray) -> None:
        random = self._misread_random
        assert random is not None
        block = int(random.random() * max(1, len(data) // BLOCK_SIZE)) * BLOCK_SIZE
        step = BLOCK_SIZE if random.random() < 0.5 or offset + block == 0 else -BLOCK_SIZE
        source = offset + block + step
        neighbour = platter.image[source : source + BLOCK_SIZE]
        if len(neighbour) == BLOCK_SIZE and block < len(data):
            data[block : block + BLOCK_SIZE] = neighbour
            self.misread.append((platter.number, offset + block, BLOCK_SIZE))
            self.done.append("misread")
