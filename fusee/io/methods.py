"""The ways to make 4 KiB durable, and nothing else about files.

A method is a pair: how a file is opened, and a function `put(fd, data, offset)` that
returns only when the bytes are on the disk. Which one is fastest is a property of the
device and is measured (`fusee.io.calibration`), not guessed.

`put` is the hottest call of the engine, hence plain functions with the system call bound
once and no object around them.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from enum import StrEnum

if sys.platform != "win32":
    import fcntl

Put = Callable[[int, "bytes | memoryview", int], None]


class Method(StrEnum):
    """How a write becomes durable. The values are kept in calibration.json: never rename one."""

    DIRECT = "direct"
    BUFFERED = "buffered"
    FULLFSYNC = "fullfsync"

    @property
    def label(self) -> str:
        """What people call it."""
        return _TITLES[self]


_TITLES = {
    Method.DIRECT: "O_DIRECT + RWF_DSYNC",
    Method.BUFFERED: "buffered + fdatasync",
    Method.FULLFSYNC: "buffered + F_FULLFSYNC",
}


def candidate_methods() -> tuple[Method, ...]:
    """Return the methods worth measuring on this operating system, the preferred one first."""
    if sys.platform == "linux":
        return (Method.DIRECT, Method.BUFFERED)
    if sys.platform == "darwin":
        # fsync alone leaves the data in the drive's cache there, so nothing else is durable.
        return (Method.FULLFSYNC,)
    return ()


def open_flags(method: Method) -> int:
    """Return the flags for os.open of an existing file that will be written."""
    if method is Method.DIRECT and sys.platform == "linux":
        return os.O_RDWR | os.O_DIRECT
    return os.O_RDWR


def put_of(method: Method) -> Put:
    """Return the function that writes durably by this method."""
    assert method in candidate_methods(), f"{method} does not exist on {sys.platform}"
    return _PUTS[method]


def sync_file(fd: int) -> None:
    """Make everything written to a descriptor durable, metadata too; works on directories."""
    if sys.platform == "darwin":
        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
    else:
        os.fsync(fd)


def short_write(written: int, size_bytes: int, offset: int) -> OSError:
    """Return the error for a write that the system cut short without saying why."""
    return OSError(
        errno.EIO,
        f"the system wrote {written} of {size_bytes} bytes at offset {offset} and gave no error;"
        " the disk is full or failing",
    )


_PUTS: dict[Method, Put] = {}

if sys.platform == "linux":
    _pwritev = os.pwritev
    _DSYNC = os.RWF_DSYNC

    def _put_direct(fd: int, data: bytes | memoryview, offset: int) -> None:
        written = _pwritev(fd, (data,), offset, _DSYNC)
        if written != len(data):
            raise short_write(written, len(data), offset)

    def _put_buffered(fd: int, data: bytes | memoryview, offset: int) -> None:
        written = os.pwrite(fd, data, offset)
        if written != len(data):
            raise short_write(written, len(data), offset)
        os.fdatasync(fd)

    _PUTS[Method.DIRECT] = _put_direct
    _PUTS[Method.BUFFERED] = _put_buffered

if sys.platform == "darwin":

    def _put_fullfsync(fd: int, data: bytes | memoryview, offset: int) -> None:
        written = os.pwrite(fd, data, offset)
        if written != len(data):
            raise short_write(written, len(data), offset)
        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)

    _PUTS[Method.FULLFSYNC] = _put_fullfsync
