"""Who has a directory open, asked from outside.

Trying the lock would tell, and for that moment keep a process out that wants to open the
directory. So the kernel's list of locks is read instead; where there is none, the lock file
says who took the lock last, and the process table whether that process still lives.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

from fusee.io.directory import LOCK_FILE, LockHolder, read_holder

_PROC_LOCKS = Path("/proc/locks")


def find_holder(directory: Path) -> LockHolder | None:
    """Return who has the directory open, None when nobody has. Raises OSError."""
    try:
        fd = os.open(directory / LOCK_FILE, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        status, named = os.fstat(fd), read_holder(fd)
    finally:
        os.close(fd)
    if sys.platform == "linux" and os.access(_PROC_LOCKS, os.R_OK):
        device = (os.major(status.st_dev), os.minor(status.st_dev))
        return holder_among(_PROC_LOCKS.read_text(), device, status.st_ino, named)
    return named if named is not None and _lives(named) else None


def holder_among(
    locks: str, device: tuple[int, int], inode: int, named: LockHolder | None
) -> LockHolder | None:
    """Return who holds the lock of a file, by the text of /proc/locks.

    Some file systems (btrfs, overlayfs) have another device number there than stat gives;
    then the pid that the lock file names decides.
    """
    for line in locks.splitlines():
        fields = line.split()
        # 1: FLOCK  ADVISORY  WRITE 712 fe:00:131074 0 EOF; waiting ones have -> behind the number
        if len(fields) < 6 or fields[1] != "FLOCK":
            continue
        major, minor, number = fields[5].split(":")
        if int(number) != inode:
            continue
        pid = int(fields[4])
        if (int(major, 16), int(minor, 16)) == device or (named is not None and named.pid == pid):
            return named if named is not None else LockHolder(pid, "this host", "")
    return None


def _lives(named: LockHolder) -> bool:
    if named.host != socket.gethostname():
        return True  # It cannot be asked; better to refuse than to read under its hands.
    try:
        os.kill(named.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
