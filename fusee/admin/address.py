"""`owner.sock`: where the process that owns a directory listens.

A UNIX address takes 108 bytes of path (104 on macOS), and directories lie deeper than that. On
Linux the way leads through /proc/self/fd, which is short for any directory; elsewhere a path
that is too long is an error that says so.

Only the holder of the directory's lock binds here. So a socket that is there already belongs
to a process that is gone, and is replaced.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

SOCKET_FILE = "owner.sock"
_BACKLOG = 128


def bind_owner(dir_fd: int, directory: Path) -> socket.socket:
    """Return the listening socket of a directory this process has locked. Raises OSError."""
    _remove_stale(dir_fd, directory)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.setblocking(False)
        listener.bind(_address(dir_fd, directory))
        # Nobody can connect before listen, so there is no moment with wider permissions.
        os.chmod(SOCKET_FILE, 0o600, dir_fd=dir_fd)
        listener.listen(_BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


def unbind_owner(dir_fd: int) -> None:
    """Remove the socket's name, if it is still there."""
    try:
        os.unlink(SOCKET_FILE, dir_fd=dir_fd)
    except OSError:
        # Somebody removed it, or the directory: it is gone either way.
        return


@contextmanager
def owner_address(directory: Path) -> Generator[str, None, None]:
    """Give the address to connect to. Raises OSError when there is no such directory."""
    dir_fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield _address(dir_fd, directory)
    finally:
        os.close(dir_fd)


def _address(dir_fd: int, directory: Path) -> str:
    if sys.platform == "linux" and os.path.isdir("/proc/self/fd"):
        return f"/proc/self/fd/{dir_fd}/{SOCKET_FILE}"
    return str(directory / SOCKET_FILE)


def _remove_stale(dir_fd: int, directory: Path) -> None:
    try:
        found = os.stat(SOCKET_FILE, dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise FileExistsError(
            errno.EEXIST, "there is a file of this name that is no socket", str(directory)
        )
    os.unlink(SOCKET_FILE, dir_fd=dir_fd)
