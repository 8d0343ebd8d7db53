"""Reading the next piece of a log while the last one is being checked.

Half of the time of opening a long log would be spent waiting for reads that the disk could do
meanwhile. One thread reads one piece ahead; what it read is used only where it covers a whole
request. Anything else, an error too, is asked of the device again, by the caller itself: so
what a scan sees is what it would see without this.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Self

from fusee.log.window import READ_BYTES

if TYPE_CHECKING:
    from fusee.log.window import Read

_SMALL_BYTES = READ_BYTES // 4
"""Below this a request is a look at something, and no reason to leave the place."""


class ReadAhead:
    """A `Read` for one scan. Close it before anybody else reads; a `with` does."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._pool = ThreadPoolExecutor(1, "fusee-read")
        self._file = ""
        self._start = 0
        self._known = b""
        self._coming: Future[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    def read(self, file: str, offset: int, size: int) -> bytes:
        """Read as the device does, and let the piece behind this one be read meanwhile."""
        if file == self._file and self._start <= offset <= self._end:
            if offset + size > self._end:
                self._take(offset)
            if offset + size <= self._end:
                if self._coming is None:
                    self._go_on()
                return self._known[offset - self._start : offset - self._start + size]
        self._wait()
        data = self._read(file, offset, size)
        if size >= _SMALL_BYTES:
            self._file, self._start, self._known = file, offset, data
            self._coming = None
            if len(data) == size:
                self._go_on()
        return data

    @property
    def _end(self) -> int:
        return self._start + len(self._known)

    def _go_on(self) -> None:
        self._coming = self._pool.submit(self._read, self._file, self._end, READ_BYTES)

    def _take(self, offset: int) -> None:
        """Add what was read ahead to what is known from `offset` on; nothing if that failed."""
        coming = self._coming
        if coming is not None and coming.exception() is None:
            self._known = self._known[offset - self._start :] + coming.result()
            self._start, self._coming = offset, None

    def _wait(self) -> None:
        """Wait until nobody else reads: a device has one reader at a time."""
        if self._coming is not None:
            self._coming.exception()
