"""The lossy file system: requests of the kernel, applied to files that lose what is not flushed.

FSYNC makes durable, and so does a write with O_DSYNC or O_SYNC among its flags, as a direct one
with RWF_DSYNC arrives. Names are durable after an FSYNC of their directory. Faults are set by
the server's control line and counted in requests that change something.
"""

from __future__ import annotations

import errno
import os
import signal
import stat
from collections.abc import Callable
from dataclasses import dataclass

from tests.real.fuse import protocol as p
from tests.real.fuse.content import UNIT, Directory, File, Loss, NameChange, Write
from tests.real.fuse.protocol import Attributes, Op, Request

FREE_BYTES = 8 << 30
_DURABLE_FLAGS = os.O_DSYNC | os.O_SYNC
CHANGES = {
    Op.SETATTR: "setattr",
    Op.MKNOD: "name",
    Op.MKDIR: "name",
    Op.UNLINK: "name",
    Op.RMDIR: "name",
    Op.RENAME: "name",
    Op.RENAME2: "name",
    Op.CREATE: "name",
    Op.WRITE: "write",
    Op.FSYNC: "flush",
    Op.FSYNCDIR: "flush",
}
"""Requests that change something, by kind."""


@dataclass
class Cut:
    """Power goes in the request `at` that changes something, and takes a process with it."""

    at: int
    pid: int
    loss: Loss


@dataclass
class Faults:
    """What is wrong with the disk."""

    cut: Cut | None = None
    eio_at: int = 0
    """The change that fails, once."""
    is_full: bool = False
    is_lying: bool = False
    lie_at: int = 0
    """The write of a segment, counted from 1, that is reported durable and never is."""
    unreadable: set[tuple[str, int]] | None = None


class LossyFileSystem:
    """State of one file system, and its answers."""

    def __init__(self, *, is_direct: bool) -> None:
        self.things: dict[int, File | Directory] = {p.ROOT: Directory(p.ROOT)}
        self.faults = Faults()
        self.change_count = 0
        self.segment_writes = 0
        self.counts: dict[str, int] = {}
        self.is_off = False
        self._next_node = p.ROOT + 1
        self._open_flags = p.FOPEN_DIRECT_IO if is_direct else 0
        self._handlers: dict[int, Callable[[Request], bytes]] = {
            Op.LOOKUP: self._lookup,
            Op.GETATTR: self._getattr,
            Op.SETATTR: self._setattr,
            Op.MKNOD: self._mknod,
            Op.MKDIR: self._mkdir,
            Op.UNLINK: self._unlink,
            Op.RMDIR: self._unlink,
            Op.RENAME: self._rename,
            Op.RENAME2: self._rename,
            Op.OPEN: lambda request: p.opened(self._open_flags),
            Op.READ: self._read,
            Op.WRITE: self._write,
            Op.STATFS: lambda request: p.statfs(0 if self.faults.is_full else FREE_BYTES),
            Op.RELEASE: lambda request: b"",
            Op.FSYNC: self._fsync,
            Op.FLUSH: lambda request: b"",
            Op.OPENDIR: lambda request: p.opened(),
            Op.READDIR: self._readdir,
            Op.RELEASEDIR: lambda request: b"",
            Op.FSYNCDIR: self._fsync,
            Op.CREATE: self._create,
        }

    def handle(self, request: Request) -> bytes:
        """Return the answer. Raises OSError, which the asker gets."""
        handler = self._handlers.get(request.op)
        if handler is None:
            raise OSError(errno.ENOSYS, "no such function")
        kind = CHANGES.get(Op(request.op))
        if kind is not None:
            self._before_change(kind, request, handler)
        return handler(request)

    def _before_change(
        self, kind: str, request: Request, handler: Callable[[Request], bytes]
    ) -> None:
        if self.is_off:
            raise OSError(errno.EIO, "there is no power")
        self.change_count += 1
        self.counts[kind] = self.counts.get(kind, 0) + 1
        faults = self.faults
        if faults.eio_at == self.change_count:
            raise OSError(errno.EIO, "an error of the disk")
        if faults.is_full and kind in ("write", "name"):
            raise OSError(errno.ENOSPC, "the disk is full")
        cut = faults.cut
        if cut is not None and cut.at == self.change_count:
            self._lose_power_in(request, cut, handler)
            raise OSError(errno.EIO, "there is no power")

    # ---------------------------------------------------------------- power

    def _lose_power_in(
        self, request: Request, cut: Cut, handler: Callable[[Request], bytes]
    ) -> None:
        """End the process inside its call: with the signal pending it sees no answer to it.

        What the request brings is the last of what is not durable yet.
        """
        os.kill(cut.pid, signal.SIGKILL)
        if request.op == Op.WRITE:
            _, write = self._write_of(request)
            self._file(request.node).change(write)
        elif request.op not in (Op.FSYNC, Op.FSYNCDIR):
            handler(request)
        self.lose_power(cut.loss)

    def lose_power(self, loss: Loss) -> None:
        """Forget what is not durable; refuse changes until power is on again."""
        self.is_off = True
        self.faults = Faults()
        for thing in self.things.values():
            thing.lose(loss)
        self._collect()

    def forget_removed(self) -> None:
        """Make removals from the root durable, and free what nothing leads to any more."""
        self.things[p.ROOT].flush()
        self._collect()

    def _collect(self) -> None:
        reachable: set[int] = set()
        self._reach(p.ROOT, reachable)
        self.things = {node: thing for node, thing in self.things.items() if node in reachable}

    def _reach(self, node: int, reachable: set[int]) -> None:
        reachable.add(node)
        thing = self.things[node]
        if isinstance(thing, Directory):
            for child in {*thing.now.values(), *thing.durable.values()}:
                self._reach(child, reachable)

    def flip(self, path: str, offset: int, bit: int) -> None:
        """Let a bit rot."""
        file = self.find(path)
        file.durable[offset] ^= 1 << bit
        file.now[offset] ^= 1 << bit

    def find(self, path: str) -> File:
        """Return the file at a path."""
        node = p.ROOT
        for name in path.split("/"):
            node = self._directory(node).now[name]
        return self._file(node)

    # ---------------------------------------------------------------- things

    def _file(self, node: int) -> File:
        thing = self.things.get(node)
        if not isinstance(thing, File):
            raise OSError(errno.ESTALE, "the file is gone")
        return thing

    def _directory(self, node: int) -> Directory:
        thing = self.things.get(node)
        if not isinstance(thing, Directory):
            raise OSError(errno.ESTALE, "the directory is gone")
        return thing

    def _attributes(self, node: int) -> Attributes:
        thing = self.things.get(node)
        if thing is None:
            raise OSError(errno.ESTALE, "it is gone")
        size = len(thing.now) if isinstance(thing, File) else 4096
        return Attributes(node, thing.mode, size)

    def _add(self, parent: int, name: str, mode: int) -> bytes:
        directory = self._directory(parent)
        node = self._next_node
        self._next_node += 1
        is_directory = stat.S_ISDIR(mode)
        self.things[node] = Directory(node, mode) if is_directory else File(node, mode, parent)
        directory.change(NameChange(name, node))
        return p.entry(self._attributes(node))

    # ---------------------------------------------------------------- names

    def _lookup(self, request: Request) -> bytes:
        (name,) = p.names(request.body)
        node = self._directory(request.node).now.get(name)
        if node is None:
            raise OSError(errno.ENOENT, "no such name")
        return p.entry(self._attributes(node))

    def _mknod(self, request: Request) -> bytes:
        mode, *_ = p.MKNOD_IN.unpack_from(request.body)
        (name,) = p.names(request.body[p.MKNOD_IN.size :])
        return self._add(request.node, name, mode)

    def _mkdir(self, request: Request) -> bytes:
        mode, _ = p.MKDIR_IN.unpack_from(request.body)
        (name,) = p.names(request.body[p.MKDIR_IN.size :])
        return self._add(request.node, name, stat.S_IFDIR | mode)

    def _create(self, request: Request) -> bytes:
        _, mode, *_ = p.CREATE_IN.unpack_from(request.body)
        (name,) = p.names(request.body[p.CREATE_IN.size :])
        return self._add(request.node, name, mode) + p.opened(self._open_flags)

    def _unlink(self, request: Request) -> bytes:
        (name,) = p.names(request.body)
        self._directory(request.node).change(NameChange(name, 0))
        return b""

    def _rename(self, request: Request) -> bytes:
        layout = p.RENAME_IN if request.op == Op.RENAME else p.RENAME2_IN
        parent, *_ = layout.unpack_from(request.body)
        old, new = p.names(request.body[layout.size :])
        if parent != request.node:
            raise OSError(errno.EXDEV, "names stay in their directory here")
        self._directory(parent).change(NameChange(new, 0, old))
        return b""

    def _readdir(self, request: Request) -> bytes:
        _, offset, size, *_ = p.READ_IN.unpack_from(request.body)
        entries = self._directory(request.node).now.items()
        listed = ((name, self._attributes(node)) for name, node in entries)
        return p.directory_entries(listed, offset, size)

    # ---------------------------------------------------------------- content

    def _getattr(self, request: Request) -> bytes:
        return p.attributes_out(self._attributes(request.node))

    def _setattr(self, request: Request) -> bytes:
        valid, _, _, size, *rest = p.SETATTR_IN.unpack_from(request.body)
        thing = self.things.get(request.node)
        if thing is not None and valid & p.FATTR_MODE:
            thing.mode = stat.S_IFMT(thing.mode) | stat.S_IMODE(rest[8])
        if valid & p.FATTR_SIZE:
            self._file(request.node).change(Write(size, None))
        return p.attributes_out(self._attributes(request.node))

    def _read(self, request: Request) -> bytes:
        _, offset, size, *_ = p.READ_IN.unpack_from(request.body)
        file = self._file(request.node)
        for name, unit in self.faults.unreadable or ():
            if self.find(name) is file and offset <= unit * UNIT < offset + size:
                raise OSError(errno.EIO, "a block that cannot be read")
        return bytes(file.now[offset : offset + size])

    def _write_of(self, request: Request) -> tuple[bool, Write]:
        _, offset, size, _, _, flags, _ = p.WRITE_IN.unpack_from(request.body)
        data = request.body[p.WRITE_IN.size : p.WRITE_IN.size + size]
        assert len(data) == size
        return bool(flags & _DURABLE_FLAGS), Write(offset, data)

    def _write(self, request: Request) -> bytes:
        is_durable, write = self._write_of(request)
        file = self._file(request.node)
        assert write.data is not None
        if write.offset >= 8192 and self._is_segment(request.node):
            self.segment_writes += 1
            if self.faults.lie_at == self.segment_writes:
                file.lie(write)
                return p.WRITE_OUT.pack(len(write.data), 0)
        file.change(write)
        if is_durable and not self.faults.is_lying:
            file.flush()
        return p.WRITE_OUT.pack(len(write.data), 0)

    def _is_segment(self, node: int) -> bool:
        siblings = self._directory(self._file(node).parent).now
        return any(
            child == node and name.startswith("segment-") and not name.endswith(".new")
            for name, child in siblings.items()
        )

    def _fsync(self, request: Request) -> bytes:
        if not self.faults.is_lying:
            self.things[request.node].flush()
        return b""
