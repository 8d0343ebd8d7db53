"""One directory on a real disk: `fusee.log.device.Device` over system calls.

    write    one call that returns when the bytes are on the disk (methods.py)
    read     past the page cache: after a failed flush the cache shows data that the disk
             never got, and ext4, XFS and btrfs all mark such pages clean (consensus.md S-8)
    create   content, then name, then directory (naming.py)

The first failure of anything that writes ends writing for good: nobody knows what the disk
holds, so a second attempt could report success over a hole. Opening is not writing: where the
system has no descriptor left nothing has happened, and files are opened before they are needed.

The directory is held by descriptor, not by path, so that renaming it under a running engine
cannot make files appear elsewhere.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from mmap import mmap
from typing import TYPE_CHECKING
from weakref import WeakSet

from fusee.base.errors import ForkedEngine
from fusee.base.limits import BLOCK_SIZE
from fusee.io import fork
from fusee.io.aligned import FrameMemory, Staging
from fusee.io.methods import Method, open_flags, put_of
from fusee.io.naming import (
    UNFINISHED,
    begin_file,
    drop_cache,
    finish_file,
    give_up_file,
    rename_file,
)
from fusee.log.device import NotBegun
from fusee.log.superblock import FILE as SUPERBLOCK

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_O_DIRECT: int = getattr(os, "O_DIRECT", 0)
_READ_BYTES_MAX = 1 << 20
_FILES_OPEN_MAX = 16
"""Of each kind; a log of hundreds of segments must not use up a process's descriptors."""
# How file systems say "not with O_DIRECT".
_REFUSALS = (errno.EINVAL, errno.EOPNOTSUPP)
_NOT_NOW = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


class FileDevice:
    """Files of one directory, written durably by one method.

    Reads (of one thread at a time) and `create` may run beside a write in other threads, as
    long as they concern other files.
    """

    def __init__(self, directory: Path, method: Method, flush_ns: int) -> None:
        self.directory = directory
        self.method = method
        self._flush_ns = flush_ns
        self._put = put_of(method)
        self._is_direct = method is Method.DIRECT
        self._dir_fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        self._frames = FrameMemory()
        self._staging = Staging()
        self._write_fds: dict[str, int] = {}
        # file -> (descriptor, whether it reads past the cache)
        self._read_fds: dict[str, tuple[int, bool]] = {}
        self._retired_fds: list[int] = []
        self._failure: BaseException | None = None
        self._is_closed = False
        _open_devices.add(self)

    @property
    def flush_ns(self) -> int:
        """Calibrated time of one 4 KiB durable write in nanoseconds."""
        return self._flush_ns

    @property
    def failure(self) -> BaseException | None:
        """What ended writing, None while nothing did."""
        return self._failure

    @property
    def is_buffered(self) -> bool:
        """Whether writes pass through the page cache, which lies after a failed flush."""
        return not self._is_direct

    def buffer(self, size: int) -> memoryview:
        """Return `size` bytes of aligned scratch memory, valid until the next call."""
        return self._frames.next(size)

    def write(self, file: str, offset: int, data: bytes | memoryview) -> None:
        """Write and make durable before returning. Raises OSError, once and for all."""
        assert not (offset | len(data)) & (BLOCK_SIZE - 1), (offset, len(data))
        try:
            fd = self._write_fds[file]
        except KeyError:
            fd = self._open_to_write(file)
        try:
            if not self._is_direct or (type(data) is memoryview and type(data.obj) is mmap):
                self._put(fd, data, offset)
            else:
                self._put_copied(fd, data, offset)
        except BaseException as error:
            # Also an interrupt: it may have come between write and flush.
            self._fail(error)
            if isinstance(error, OSError):
                raise self._named(error, f"write of {len(data)} bytes at {offset}", file) from error
            raise

    def read(self, file: str, offset: int, size: int) -> bytes:
        """Read from the disk, not from the cache; fewer bytes only at the end of the file."""
        assert not (offset | size) & (BLOCK_SIZE - 1), (offset, size)
        fd, is_direct = self._read_fds.get(file) or self._open_to_read(file)
        region = self._staging.borrow(min(size, _READ_BYTES_MAX))
        try:
            return self._read_through(region, fd, is_direct, offset, size)
        except OSError as error:
            if not is_direct or error.errno not in _REFUSALS:
                raise self._named(error, f"read of {size} bytes at {offset}", file) from error
        finally:
            self._staging.give_back(region)
        # It opened with O_DIRECT and refuses to read so: stacked file systems do.
        self._forget_reader(file)
        self._read_fds[file] = (self._open(file, os.O_RDONLY), False)
        return self.read(file, offset, size)

    def open_to_write(self, file: str) -> None:
        """Open what a write needs now, while it may still fail without harm. Raises OSError."""
        if file not in self._write_fds:
            self._open_to_write(file)

    def size(self, file: str) -> int:
        """Return the file's size in bytes, -1 when there is none."""
        try:
            return os.stat(file, dir_fd=self._checked_dir_fd()).st_size
        except FileNotFoundError:
            return -1

    def files(self) -> list[str]:
        """Return the names of all finished files, sorted."""
        return [name for name in self._names() if not name.endswith(UNFINISHED)]

    def create(self, file: str, chunks: Iterable[bytes | memoryview]) -> None:
        """Make a whole file appear: content, then name, then directory, each made durable."""
        self._check_writable(file)
        dir_fd = self._checked_dir_fd()
        fd, writer = self._begin(dir_fd, file)
        try:
            finish_file(dir_fd, fd, file, chunks)
        except BaseException as error:
            os.close(writer)
            self._fail(error)
            if isinstance(error, OSError):
                raise self._named(error, "creating the file", file) from error
            raise
        self._forget(file)
        self._keep_writer(file, writer)

    def rename(self, old: str, new: str) -> None:
        """Rename durably, replacing `new`."""
        self._check_writable(old)
        try:
            rename_file(self._checked_dir_fd(), old, new)
        except OSError as error:
            self._fail(error)
            raise self._named(error, f"renaming it to {new!r}", old) from error
        writer = self._write_fds.pop(old, None)
        self._forget_reader(old)
        self._forget(new)
        if writer is not None:
            self._keep_writer(new, writer)

    def remove_unfinished(self) -> list[str]:
        """Remove what a crash left of `create`; only for the holder of the directory's lock."""
        names = [name for name in self._names() if name.endswith(UNFINISHED)]
        for name in names:
            os.unlink(name, dir_fd=self._dir_fd)
        return names

    def free_bytes(self) -> int:
        """Return how many bytes the file system still has for an ordinary user."""
        numbers = os.statvfs(self._checked_dir_fd())
        return numbers.f_bavail * numbers.f_frsize

    def disable_in_child(self) -> None:
        """End writing in a forked child: the log is the parent's, who goes on with it."""
        self._fail(ForkedEngine("the directory belongs to the parent of this process"))

    def close(self) -> None:
        """Release descriptors. Idempotent."""
        if self._is_closed:
            return
        self._is_closed = True
        for file in [*self._write_fds, *self._read_fds]:
            self._forget(file)
        while self._retired_fds:
            os.close(self._retired_fds.pop())
        os.close(self._dir_fd)

    # ------------------------------------------------------------ descriptors

    def _open(self, file: str, flags: int) -> int:
        assert "/" not in file, file
        return os.open(file, flags, dir_fd=self._checked_dir_fd())

    def _open_to_write(self, file: str) -> int:
        self._check_writable(file)
        try:
            fd = self._open(file, open_flags(self.method))
        except OSError as error:
            raise self._not_opened(error, f"opening it for {self.method.label}", file) from error
        self._keep_writer(file, fd)
        return fd

    def _begin(self, dir_fd: int, file: str) -> tuple[int, int]:
        """Open a new file twice: to fill it, and for the writes that come when it is there."""
        try:
            fd = begin_file(dir_fd, file)
        except OSError as error:
            raise self._not_opened(error, "creating the file", file) from error
        try:
            return fd, self._open(file + UNFINISHED, open_flags(self.method))
        except OSError as error:
            give_up_file(dir_fd, fd, file)
            raise self._not_opened(error, f"opening it for {self.method.label}", file) from error

    def _keep_writer(self, file: str, fd: int) -> None:
        # Two files at most are being written beside the superblock, and they are the newest.
        written = [name for name in list(self._write_fds) if name != SUPERBLOCK]
        if len(written) >= _FILES_OPEN_MAX:
            os.close(self._write_fds.pop(written[0]))
        self._write_fds[file] = fd
        # Another thread may have closed the device, or failed, while this file was made.
        if self._is_closed:
            self._forget(file)
        elif self._failure is not None:
            self._retire_writers()

    def _open_to_read(self, file: str) -> tuple[int, bool]:
        try:
            reader = (self._open(file, os.O_RDONLY | _O_DIRECT), bool(_O_DIRECT))
        except OSError as error:
            if error.errno not in _REFUSALS:
                raise self._named(error, "opening it to read", file) from error
            reader = (self._open(file, os.O_RDONLY), False)
        # The superblock is read back after each write, which must not fail for want of this.
        segments = [name for name in self._read_fds if name != SUPERBLOCK]
        if len(segments) >= _FILES_OPEN_MAX:
            self._forget_reader(segments[0])
        self._read_fds[file] = reader
        return reader

    def _forget(self, file: str) -> None:
        fd = self._write_fds.pop(file, None)
        if fd is not None:
            os.close(fd)
        self._forget_reader(file)

    def _forget_reader(self, file: str) -> None:
        reader = self._read_fds.pop(file, None)
        if reader is not None:
            os.close(reader[0])

    def _checked_dir_fd(self) -> int:
        # A closed number may already belong to somebody's socket.
        if self._is_closed:
            raise OSError(errno.EBADF, "the device is closed", str(self.directory))
        return self._dir_fd

    def _names(self) -> list[str]:
        names: list[str] = []
        dir_fd = self._checked_dir_fd()
        for name in os.listdir(dir_fd):
            # A file may vanish between listing and looking: then it is none of ours.
            with suppress(FileNotFoundError):
                if stat.S_ISREG(os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_mode):
                    names.append(name)
        return sorted(names)

    # ------------------------------------------------------------ data

    def _put_copied(self, fd: int, data: bytes | memoryview, offset: int) -> None:
        size = len(data)
        region = self._staging.borrow(size)
        try:
            region[:size] = data
            with memoryview(region) as whole, whole[:size] as part:
                self._put(fd, part, offset)
        finally:
            self._staging.give_back(region)

    def _read_through(
        self, region: mmap, fd: int, is_direct: bool, offset: int, size: int
    ) -> bytes:
        if not is_direct:
            drop_cache(fd, offset, size)
        parts: list[bytes] = []
        done = 0
        with memoryview(region) as whole:
            while done < size:
                wanted = min(len(region), size - done)
                with whole[:wanted] as part:
                    count = os.preadv(fd, (part,), offset + done)
                parts.append(region[:count])
                done += count
                if count == 0 or count % BLOCK_SIZE:
                    # The end of the file; asking on from an unaligned place is an error.
                    break
        return parts[0] if len(parts) == 1 else b"".join(parts)

    # ------------------------------------------------------------ failure

    def _fail(self, error: BaseException) -> None:
        if self._failure is None:
            self._failure = error
        self._retire_writers()

    def _retire_writers(self) -> None:
        # Emptying the table sends every later write through `_check_writable`, so that the
        # hot path needs no test of its own. The descriptors stay open until close: another
        # thread may be inside a call with one.
        while self._write_fds:
            self._retired_fds.append(self._write_fds.popitem()[1])

    def _not_opened(self, error: OSError, what: str, file: str) -> OSError:
        """Return the error of a call that ended before it wrote anything.

        Too few descriptors pass, and the disk holds what it held. A file that is gone does not.
        """
        named = self._named(error, what, file)
        if error.errno in _NOT_NOW:
            return NotBegun(*named.args, named.filename)
        self._fail(error)
        return named

    def _check_writable(self, file: str) -> None:
        self._checked_dir_fd()
        if self._failure is not None:
            raise OSError(
                errno.EIO,
                f"nothing is written after a failure ({self._failure}); restart the process",
                f"{self.directory}/{file}",
            ) from self._failure

    def _named(self, error: OSError, what: str, file: str) -> OSError:
        text = f"{what} failed: {error.strerror}"
        return OSError(error.errno or errno.EIO, text, f"{self.directory}/{file}")


_open_devices: WeakSet[FileDevice] = WeakSet()


def _disable_in_child() -> None:
    for device in list(_open_devices):
        device.disable_in_child()


fork.call_in_child(_disable_in_child)
