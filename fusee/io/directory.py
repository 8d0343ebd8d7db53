"""One process a directory: who may open it, and who has.

The lock is flock on the file `lock`: the kernel drops it with the process, so nothing a dead
process left behind is ever an obstacle, and the file is never removed (removing it would let
two processes hold locks on two files of one name). Its content says who holds it and is for
people only; it is never trusted.

A forked child shares the lock with its parent, and would keep it after the parent's death:
children close theirs at once and may not use the engine.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from fusee.base.errors import DirectoryLocked, DirectoryRefused, ForkedEngine
from fusee.io import fork
from fusee.io.methods import sync_file
from fusee.io.mounts import Mount, find_mount

if sys.platform != "win32":
    import fcntl

LOCK_FILE = "lock"
_HOLDER_BYTES_MAX = 4096
# Locks there are kept by a server that may forget them, or by this host alone; and flushes
# end in another machine's memory.
_NETWORK_FILE_SYSTEMS = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "fuse.sshfs", "fuse.s3fs")
)
# How file systems say that they have no locks.
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)


class LockHolder(Struct, frozen=True):
    """Who holds a directory, as the lock file tells it."""

    pid: int
    host: str
    started: str


class Directory:
    """A directory that this process, and no other, has open. Made by `acquire`."""

    def __init__(self, path: Path, lock_fd: int, file_id: tuple[int, int]) -> None:
        self.path = path
        self._lock_fd = lock_fd
        self._file_id = file_id
        self._generation = fork.generation
        self.withheld_because = ""

    @classmethod
    def acquire(cls, path: Path | str) -> Directory:
        """Make the directory if there is none, and lock it.

        Raises DirectoryRefused or DirectoryLocked.
        """
        path = Path(path).absolute()
        check_platform(path)
        try:
            make_directory(path)
            check_file_system(path, find_mount(path))
            lock_fd = os.open(path / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
        except (OSError, ValueError) as error:
            raise _refusal(path, error) from error
        try:
            _lock(path, lock_fd)
            _name_holder(lock_fd)
        except BaseException:
            os.close(lock_fd)
            raise
        directory = cls(path, lock_fd, _file_id(lock_fd))
        _held[directory._file_id] = directory
        return directory

    @property
    def is_held(self) -> bool:
        """Whether this object still holds the lock."""
        return self._lock_fd >= 0

    @property
    def is_owner(self) -> bool:
        """Whether this is the process that acquired it, not a child forked later."""
        return self._generation == fork.generation

    def check_owner(self) -> None:
        """Raise ForkedEngine in a child forked after `acquire`. Costs one comparison."""
        if self._generation != fork.generation:
            raise ForkedEngine(
                f"{self.path} was opened by the parent of this process; open an engine of its own"
                " after os.fork() (with a pre-forking web server: in the worker's lifespan), on a"
                " directory of its own"
            )

    def withhold_release(self, reason: str) -> None:
        """Keep the lock until the process ends, whatever is released later.

        After a failed buffered flush the page cache shows what the disk does not hold, so
        opening again from this process would believe in lost data.
        """
        self.withheld_because = reason

    def release(self) -> None:
        """Let others open the directory. Idempotent; without effect once withheld."""
        if self._lock_fd < 0 or self.withheld_because:
            return
        lock_fd, self._lock_fd = self._lock_fd, -1
        del _held[self._file_id]
        # So that nobody who loses a race for the lock is told of a holder long gone.
        with suppress(OSError):
            os.ftruncate(lock_fd, 0)
        os.close(lock_fd)

    def close_in_child(self) -> None:
        """Drop a forked child's share of the lock, which stays the parent's."""
        os.close(self._lock_fd)
        self._lock_fd = -1


def check_platform(path: Path) -> None:
    """Refuse operating systems on which a directory cannot be opened."""
    if sys.platform == "win32":
        raise DirectoryRefused(
            f"{path} cannot be opened: directories are not supported on Windows; use"
            ' Engine.open(":memory:") there, or Linux (WSL) or macOS'
        )


def make_directory(path: Path) -> None:
    """Make a directory and its parents, readable for their owner only, and durable."""
    missing: list[Path] = []
    for place in (path, *path.parents):
        if place.exists():
            break
        missing.append(place)
    for place in reversed(missing):
        place.mkdir(mode=0o700, exist_ok=True)
        _sync_directory(place.parent)
    if not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))


def check_file_system(path: Path, mount: Mount) -> None:
    """Refuse file systems whose locks cannot keep two processes apart."""
    if mount.fs_type in _NETWORK_FILE_SYSTEMS:
        raise DirectoryRefused(
            f"{path} is on a network file system ({mount.fs_type}, {mount.source}), where neither"
            " locks nor flushes can be relied on; use a directory on a local disk"
        )


def read_holder(lock_fd: int) -> LockHolder | None:
    """Return who wrote the lock file, None when it says nothing that can be read."""
    try:
        data = os.pread(lock_fd, _HOLDER_BYTES_MAX, 0)
        return msgspec.json.decode(data, type=LockHolder)
    except (msgspec.DecodeError, UnicodeDecodeError, OSError):
        # Empty, half written or not ours: the lock counts, not what the file says.
        return None


# Locks of this process by (device, inode) of the lock file: two paths may lead to one.
_held: dict[tuple[int, int], Directory] = {}


def _close_in_child() -> None:
    for directory in _held.values():
        directory.close_in_child()
    _held.clear()


fork.call_in_child(_close_in_child)


def _lock(path: Path, lock_fd: int) -> None:
    try:
        fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _locked(path, lock_fd) from None
    except OSError as error:
        if error.errno in _NO_LOCKS:
            raise DirectoryRefused(
                f"{path}: this file system has no locks ({error.strerror}), so two processes could"
                " open it at once; use a directory on a local disk"
            ) from error
        raise _refusal(path, error) from error


def _locked(path: Path, lock_fd: int) -> DirectoryLocked:
    own = _held.get(_file_id(lock_fd))
    if own is None:
        return _locked_elsewhere(path, read_holder(lock_fd))
    pid, host = os.getpid(), socket.gethostname()
    if own.withheld_because:
        text = (
            f"{path} stays locked until this process (pid {pid}) ends: {own.withheld_because};"
            " restart the process"
        )
    else:
        text = (
            f"{path} is already open in this process (pid {pid}); use the engine that is open,"
            " or close it first"
        )
    return DirectoryLocked(text, pid, host)


def _locked_elsewhere(path: Path, holder: LockHolder | None) -> DirectoryLocked:
    advice = (
        "one process a directory: run the web server with one worker per host, or stop the"
        " other process first"
    )
    if holder is None:
        return DirectoryLocked(f"{path} is open in another process; {advice}")
    return DirectoryLocked(
        f"{path} is open in process {holder.pid} on {holder.host} since {holder.started}; {advice}",
        holder.pid,
        holder.host,
    )


def _name_holder(lock_fd: int) -> None:
    """Say who holds the lock, if the disk takes it: a full one is no reason not to open."""
    now = datetime.fromtimestamp(int(time.time()), UTC)
    holder = LockHolder(os.getpid(), socket.gethostname(), now.isoformat())
    with suppress(OSError):
        os.ftruncate(lock_fd, 0)
        os.pwrite(lock_fd, msgspec.json.encode(holder) + b"\n", 0)


def _file_id(fd: int) -> tuple[int, int]:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


def _sync_directory(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        sync_file(fd)
    finally:
        os.close(fd)


def _refusal(path: Path, error: OSError | ValueError) -> DirectoryRefused:
    if isinstance(error, ValueError):
        return DirectoryRefused(f"{str(path)!r} is not a path ({error}); name a directory")
    place = error.filename or path
    match error.errno:
        case errno.ENOTDIR | errno.EEXIST:
            text = f"{place} is not a directory; name one, or move the file away"
        case errno.EACCES | errno.EPERM:
            text = (
                f"no permission for user {os.geteuid()} at {place}; run as the directory's owner,"
                f" or give it to this user (chown {os.geteuid()} {path})"
            )
        case errno.EROFS:
            text = f"{place} is on a read-only file system; use another, or mount it writable"
        case errno.ENOSPC | errno.EDQUOT:
            text = f"no space at {place}; free some, and open it again"
        case _:
            text = f"{place}: {error.strerror}; name a directory on a local disk"
    return DirectoryRefused(f"{path} cannot be opened: {text}")
