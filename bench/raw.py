"""The floor: what one durable 4 KiB write costs here, without Fusee.

Written with the bare system call and nothing of the engine: `pwritev` on a file opened with
O_DIRECT, with RWF_DSYNC, into blocks that were written before (a first write into an
allocated hole costs half as much again, and the log never does it). Where the file system
refuses O_DIRECT, buffered `pwrite` and `fdatasync`; the report says which.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter_ns
from types import TracebackType
from typing import Self

from bench.stats import p50, us

BLOCK_BYTES = 4096
BLOCKS = 1024
"""4 MiB, written round and round, as the log writes through a segment."""

_DIRECT: int = getattr(os, "O_DIRECT", 0)
_DSYNC: int = getattr(os, "RWF_DSYNC", 0)


DOUBT = 2.0


def calibration_notes(calibrated_ns: int, raw_ns: Sequence[float]) -> list[str]:
    """Say when the engine measured a far slower disk than we do, on a busy machine at its open.

    It then writes through a thread, as for a slow disk, and its figures are of that mode.
    """
    seen_ns = p50(raw_ns)
    if calibrated_ns <= DOUBT * seen_ns:
        return []
    return [
        f"the engine calibrated a flush of {us(calibrated_ns)} at its open, {us(seen_ns)} is true: "
        "it wrote by the wrong mode, so do not quote this row"
    ]


class RawWrites:
    """One file of a directory and timed durable writes into it."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "raw-writes"
        self._path.write_bytes(os.urandom(BLOCKS * BLOCK_BYTES))
        self._block = mmap.mmap(-1, BLOCK_BYTES)  # Aligned to a page, as O_DIRECT wants it.
        self._block[:] = os.urandom(BLOCK_BYTES)
        self._next = 0
        self._fd = os.open(self._path, os.O_RDWR)
        os.fsync(self._fd)
        self.method = "buffered + fdatasync"
        if _DIRECT and _DSYNC:
            self._try_direct()

    def _try_direct(self) -> None:
        try:
            fd = os.open(self._path, os.O_RDWR | _DIRECT)
        except OSError:
            return
        try:
            os.pwritev(fd, (self._block,), 0, _DSYNC)
        except OSError:
            os.close(fd)
            return
        os.close(self._fd)
        self._fd = fd
        self.method = "O_DIRECT + RWF_DSYNC"

    @property
    def is_direct(self) -> bool:
        return self.method.startswith("O_DIRECT")

    def write(self, count: int) -> list[int]:
        """Write so many blocks, one after the other; return what each took in ns."""
        took: list[int] = []
        fd, parts, is_direct = self._fd, (self._block,), self.is_direct
        for number in range(self._next, self._next + count):
            offset = number % BLOCKS * BLOCK_BYTES
            begun = perf_counter_ns()
            if is_direct:
                os.pwritev(fd, parts, offset, _DSYNC)
            else:
                os.pwrite(fd, self._block, offset)
                os.fdatasync(fd)
            took.append(perf_counter_ns() - begun)
        self._next += count
        return took

    def close(self) -> None:
        os.close(self._fd)
        self._path.unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
