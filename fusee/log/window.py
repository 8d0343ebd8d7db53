"""Reading one segment forward in large pieces, past blocks that cannot be read.

An unreadable block is handed out as zeros, which no tag check accepts: the scan then sees
what it must see, a damaged place, and goes on to look for what lies behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from fusee.base.limits import BLOCK_SIZE, MIB

if TYPE_CHECKING:
    from fusee.log.segment import SegmentHeader

READ_BYTES: Final = 1 * MIB


class Read(Protocol):
    """The one call of a device that a scan needs."""

    def __call__(self, file: str, offset: int, size: int) -> bytes:
        """Read whole blocks; fewer bytes at the end of the file; OSError where unreadable."""
        ...


class Window:
    """A piece of one segment in memory, moved on as the scan asks for later blocks."""

    def __init__(self, read: Read, header: SegmentHeader, piece_bytes: int = READ_BYTES) -> None:
        self.header = header
        self.file = header.file
        self.file_key = header.file_key
        self.size_bytes = header.size_bytes
        self._read = read
        self._piece_bytes = piece_bytes
        self._start = 0
        self._view = memoryview(b"")

    def get(self, offset: int, size: int) -> memoryview:
        """Return `size` bytes at `offset`, both whole blocks within the segment."""
        start = offset - self._start
        if start < 0 or start + size > len(self._view):
            self._load(offset, max(size, self._piece_bytes))
            start = 0
        return self._view[start : start + size]

    def _load(self, offset: int, size: int) -> None:
        assert offset % BLOCK_SIZE == 0
        size = min(size, self.size_bytes - offset)
        assert size > 0
        data = read_blocks(self._read, self.file, offset, size)
        self._start = offset
        self._view = memoryview(data)


def read_blocks(read: Read, file: str, offset: int, size: int) -> bytes:
    """Read whole blocks; those that are unreadable or behind the end of the file are zeros."""
    try:
        return read(file, offset, size).ljust(size, b"\0")
    except OSError:
        if size <= BLOCK_SIZE:
            return bytes(BLOCK_SIZE)
    pieces: list[bytes] = []
    for start in range(offset, offset + size, BLOCK_SIZE):
        try:
            pieces.append(read(file, start, BLOCK_SIZE).ljust(BLOCK_SIZE, b"\0"))
        except OSError:
            pieces.append(bytes(BLOCK_SIZE))
    return b"".join(pieces)
