"""A file system with one file, a disk image, that records every write and every flush of it.

A loop device on that file, with direct I/O, sends each block write as one WRITE and each flush
of the disk's cache as one FSYNC: what dm-log-writes does, in user space.

The record is a file of entries: offset and size, 8 bytes each, then the data. A flush is an
entry with an offset of all ones. Before it is told to start, the image is only written.
"""

from __future__ import annotations

import errno
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from struct import Struct

from tests.real.fuse import protocol as p
from tests.real.fuse.protocol import Attributes, Op, Request

IMAGE = "disk.img"
_NODE = 2
_HEAD = Struct("<QQ")
_FLUSH = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Entry:
    """A write, or with `data` None a flush."""

    offset: int
    data: bytes | None


class Recorder:
    """The image in memory, and the record."""

    def __init__(self, size_bytes: int, record: Path) -> None:
        self._image = bytearray(size_bytes)
        self._record = record.open("wb")
        self._start = record.with_suffix(".start")
        self._is_recording = False
        self.position = 0
        """How many entries there are."""

    @property
    def is_recording(self) -> bool:
        return self._is_recording

    @is_recording.setter
    def is_recording(self, value: bool) -> None:
        if value and not self._is_recording:
            self._save_start()
        self._is_recording = value

    def _save_start(self) -> None:
        """Keep the image as it is now, with holes where there are zeros."""
        piece = 1 << 16
        zeros = bytes(piece)
        with self._start.open("wb") as file:
            file.truncate(len(self._image))
            for at in range(0, len(self._image), piece):
                data = self._image[at : at + piece]
                if data != zeros:
                    file.seek(at)
                    file.write(data)

    def _enter(self, offset: int, data: bytes = b"") -> None:
        if self._is_recording:
            self._record.write(_HEAD.pack(offset, len(data)) + data)
            self._record.flush()
            self.position += 1

    def handle(self, request: Request) -> bytes:
        """Return the answer. Raises OSError, which the asker gets."""
        image = Attributes(_NODE, stat.S_IFREG | 0o600, len(self._image))
        root = Attributes(p.ROOT, stat.S_IFDIR | 0o700, 4096)
        match request.op:
            case Op.LOOKUP if p.names(request.body) == [IMAGE]:
                return p.entry(image)
            case Op.LOOKUP:
                raise OSError(errno.ENOENT, "no such name")
            case Op.GETATTR | Op.SETATTR:
                return p.attributes_out(root if request.node == p.ROOT else image)
            case Op.OPEN | Op.OPENDIR:
                return p.opened()
            case Op.READ:
                _, offset, size, *_ = p.READ_IN.unpack_from(request.body)
                return bytes(self._image[offset : offset + size])
            case Op.WRITE:
                return self._write(request)
            case Op.FSYNC:
                self._enter(_FLUSH)
                return b""
            case Op.STATFS:
                return p.statfs(1 << 30)
            case Op.RELEASE | Op.FLUSH | Op.RELEASEDIR | Op.FSYNCDIR:
                return b""
            case Op.READDIR:
                _, offset, size, *_ = p.READ_IN.unpack_from(request.body)
                return p.directory_entries([(IMAGE, image)], offset, size)
            case _:
                raise OSError(errno.ENOSYS, "no such function")

    def _write(self, request: Request) -> bytes:
        _, offset, size, _, _, _, _ = p.WRITE_IN.unpack_from(request.body)
        data = request.body[p.WRITE_IN.size : p.WRITE_IN.size + size]
        if offset + size > len(self._image):
            raise OSError(errno.ENOSPC, "the image does not grow")
        self._image[offset : offset + size] = data
        self._enter(offset, data)
        return p.WRITE_OUT.pack(size, 0)


def read_record(record: Path) -> Iterator[Entry]:
    """Yield what was recorded."""
    with record.open("rb") as file:
        while head := file.read(_HEAD.size):
            offset, size = _HEAD.unpack(head)
            yield Entry(offset, None if offset == _FLUSH else file.read(size))
