"""The kernel's FUSE protocol, as far as a small file system needs it, and mount(2). No libfuse.

Numbers and layouts are those of <linux/fuse.h>, protocol 7.31. Times are always zero, and every
answer is valid for no time at all: after a loss of power nothing may be remembered.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from struct import Struct

WRITE_BYTES_MAX = 1 << 20
ROOT = 1
FATTR_MODE, FATTR_SIZE = 1 << 0, 1 << 3
FOPEN_DIRECT_IO = 1 << 0
_MS_NOSUID, _MS_NODEV, _MNT_DETACH = 2, 4, 2
_ASYNC_READ, _BIG_WRITES, _ASYNC_DIO, _MAX_PAGES = 1 << 0, 1 << 5, 1 << 15, 1 << 22
_VERSION = (7, 31)

_IN = Struct("<IIQQIIIHH")
_OUT = Struct("<IiQ")
_INIT_IN = Struct("<IIII")
_INIT_OUT = Struct("<IIIIHHIIHHII24x")
_ATTR = Struct("<6Q10I")
_ENTRY = Struct("<4Q2I")
_ATTR_OUT = Struct("<QII")
_OPEN_OUT = Struct("<QII")
_STATFS = Struct("<5Q4I24x")
_DIRENT = Struct("<QQII")
WRITE_IN = Struct("<QQIIQII")
READ_IN = Struct("<QQIIQII")
SETATTR_IN = Struct("<IIQQQQQQIIIIIIII")
CREATE_IN = Struct("<IIII")
MKNOD_IN = Struct("<IIII")
MKDIR_IN = Struct("<II")
RENAME_IN = Struct("<Q")
RENAME2_IN = Struct("<QII")
WRITE_OUT = Struct("<II")


class Op(IntEnum):
    """Requests that are answered with more than "no such function"."""

    LOOKUP = 1
    FORGET = 2
    GETATTR = 3
    SETATTR = 4
    MKNOD = 8
    MKDIR = 9
    UNLINK = 10
    RMDIR = 11
    RENAME = 12
    OPEN = 14
    READ = 15
    WRITE = 16
    STATFS = 17
    RELEASE = 18
    FSYNC = 20
    FLUSH = 25
    INIT = 26
    OPENDIR = 27
    READDIR = 28
    RELEASEDIR = 29
    FSYNCDIR = 30
    CREATE = 35
    INTERRUPT = 36
    DESTROY = 38
    BATCH_FORGET = 42
    RENAME2 = 45


SILENT = {Op.FORGET, Op.BATCH_FORGET, Op.INTERRUPT}
"""Requests that nobody waits for an answer to."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request of the kernel."""

    op: int
    unique: int
    node: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Attributes:
    """What stat(2) shows."""

    node: int
    mode: int
    size: int = 0

    def encode(self) -> bytes:
        links = 2 if stat.S_ISDIR(self.mode) else 1
        blocks = -(-self.size // 512)
        zeros = (0,) * 6
        return _ATTR.pack(
            self.node, self.size, blocks, *zeros, self.mode, links, 0, 0, 0, 4096, 0
        )  # fmt: skip


class Session:
    """One mount: requests come, answers go."""

    def __init__(self, target: str, name: str) -> None:
        self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        self._memory = bytearray(WRITE_BYTES_MAX + 4096)
        options = f"fd={self.fd},rootmode=40000,user_id=0,group_id=0,allow_other"
        _call(
            _libc.mount,
            name.encode(),
            os.fsencode(target),
            b"fuse.lossy",
            _MS_NOSUID | _MS_NODEV,
            options.encode(),
        )

    def receive(self) -> Request | None:
        """Return the next request; None when the file system is unmounted."""
        while True:
            try:
                size = os.readv(self.fd, [self._memory])
            except OSError as error:
                if error.errno == errno.ENODEV:
                    return None
                if error.errno in (errno.ENOENT, errno.EINTR, errno.EAGAIN):
                    continue  # The request was taken back.
                raise
            _, op, unique, node, *_ = _IN.unpack_from(self._memory)
            with memoryview(self._memory) as view:
                return Request(op, unique, node, bytes(view[_IN.size : size]))

    def answer(self, request: Request, parts: Iterable[bytes] = (), error: int = 0) -> None:
        """Answer a request, with an error number or with what it asks for."""
        if request.op in SILENT:
            return
        body = b"" if error else b"".join(parts)
        head = _OUT.pack(_OUT.size + len(body), -error, request.unique)
        try:
            os.writev(self.fd, [head, body])
        except OSError as problem:
            if problem.errno not in (errno.ENOENT, errno.ENODEV):
                raise  # Otherwise the asker was killed meanwhile, or all is unmounted.

    def close(self) -> None:
        os.close(self.fd)


def unmount(target: str) -> None:
    """Take a mount out of the tree at once; it ends when its last user does."""
    _call(_libc.umount2, os.fsencode(target), _MNT_DETACH)


def init_answer(request: Request) -> bytes:
    """Agree on the version and on large writes, and on nothing that would hide a write."""
    _, _, readahead, offered = _INIT_IN.unpack_from(request.body)
    wanted = _ASYNC_READ | _BIG_WRITES | _ASYNC_DIO | _MAX_PAGES
    pages = WRITE_BYTES_MAX // 4096
    return _INIT_OUT.pack(
        *_VERSION, readahead, offered & wanted, 64, 48, WRITE_BYTES_MAX, 1, pages, 0, 0, 0
    )


def entry(attributes: Attributes) -> bytes:
    return _ENTRY.pack(attributes.node, 0, 0, 0, 0, 0) + attributes.encode()


def attributes_out(attributes: Attributes) -> bytes:
    return _ATTR_OUT.pack(0, 0, 0) + attributes.encode()


def opened(flags: int = 0) -> bytes:
    return _OPEN_OUT.pack(0, flags, 0)


def statfs(free_bytes: int) -> bytes:
    blocks = free_bytes // 4096
    return _STATFS.pack(blocks * 2, blocks, blocks, 1 << 20, 1 << 20, 4096, 255, 4096, 0)


def directory_entries(entries: Iterable[tuple[str, Attributes]], offset: int, size: int) -> bytes:
    """Encode the entries behind an offset that fit."""
    parts: list[bytes] = []
    used = 0
    for number, (name, attributes) in enumerate(entries, start=1):
        if number <= offset:
            continue
        raw = os.fsencode(name)
        kind = stat.S_IFMT(attributes.mode) >> 12
        part = _DIRENT.pack(attributes.node, number, len(raw), kind) + raw
        part += bytes(-len(part) % 8)
        used += len(part)
        if used > size:
            break
        parts.append(part)
    return b"".join(parts)


def names(body: bytes) -> list[str]:
    """Return the zero-ended names in a request."""
    return [os.fsdecode(raw) for raw in body.split(b"\0")[:-1]]


_libc = ctypes.CDLL(None, use_errno=True)
_libc.mount.argtypes = (
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_ulong,
    ctypes.c_char_p,
)
_libc.umount2.argtypes = (ctypes.c_char_p, ctypes.c_int)


def _call(function: ctypes._NamedFuncPointer, *arguments: object) -> None:
    if function(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
