"""Making names durable: a file's content first, then its name, then the directory.

Without the last step a crash may forget the name of a file whose content was flushed, and
without the first a name may survive that leads to nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fusee.io.methods import short_write, sync_file

if TYPE_CHECKING:
    from collections.abc import Iterable

UNFINISHED = ".new"
"""Names that end so belong to files that never came to be; they may be removed at any time."""


def create_file(dir_fd: int, name: str, chunks: Iterable[bytes | memoryview]) -> None:
    """Make a whole file appear in a directory, replacing one of the same name."""
    finish_file(dir_fd, begin_file(dir_fd, name), name, chunks)


def begin_file(dir_fd: int, name: str) -> int:
    """Open a new file that has no name yet; nothing else has happened when this fails."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    return os.open(name + UNFINISHED, flags, 0o600, dir_fd=dir_fd)


def give_up_file(dir_fd: int, fd: int, name: str) -> None:
    """Undo `begin_file`."""
    os.close(fd)
    os.unlink(name + UNFINISHED, dir_fd=dir_fd)


def finish_file(dir_fd: int, fd: int, name: str, chunks: Iterable[bytes | memoryview]) -> None:
    """Fill a file that was begun, close it, and give it its name."""
    unfinished = name + UNFINISHED
    try:
        for chunk in chunks:
            _write_all(fd, chunk)
        sync_file(fd)
        drop_cache(fd)
    except BaseException:
        # A full disk should not stay full of what nobody can use.
        os.unlink(unfinished, dir_fd=dir_fd)
        raise
    finally:
        os.close(fd)
    rename_file(dir_fd, unfinished, name)


def rename_file(dir_fd: int, old: str, new: str) -> None:
    """Rename durably, replacing `new`."""
    os.rename(old, new, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
    sync_file(dir_fd)


def drop_cache(fd: int, offset: int = 0, size_bytes: int = 0) -> None:
    """Forget clean cached pages of a file; a size of 0 means up to its end.

    Two reasons: a cached page makes every later O_DIRECT write look it up and drop it, and
    after a failed flush it may hold what the disk does not.
    """
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(fd, offset, size_bytes, os.POSIX_FADV_DONTNEED)


def _write_all(fd: int, chunk: bytes | memoryview) -> None:
    # A buffered write is legally short above 2 GiB only; anything else is a full disk, which
    # the next call names. Zero twice would loop, so it is an error.
    view = memoryview(chunk)
    while view:
        written = os.write(fd, view)
        if written == 0:
            raise short_write(0, len(view), os.lseek(fd, 0, os.SEEK_CUR))
        view = view[written:]
