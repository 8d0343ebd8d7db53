"""Who has a directory open, asked without touching its lock."""

from __future__ import annotations

import os

import pytest

from fusee.io.directory import Directory, LockHolder
from fusee.io.holder import find_holder, holder_among

NAMED = LockHolder(712, "here", "2026-06-02T14:22:09+00:00")
LOCKS = """\
1: POSIX  ADVISORY  WRITE 712 fe:00:42 0 EOF
2: FLOCK  ADVISORY  WRITE 712 fe:00:77 0 EOF
2: -> FLOCK  ADVISORY  WRITE 900 fe:00:78 0 EOF
3: FLOCK  ADVISORY  WRITE 5 00:2a:79 0 EOF
"""


def test_a_holder_is_found_while_it_holds(tmp_path):
    assert find_holder(tmp_path) is None

    directory = Directory.acquire(tmp_path)
    holder = find_holder(tmp_path)
    directory.release()

    assert holder is not None
    assert holder.pid == os.getpid()
    assert find_holder(tmp_path) is None


def test_what_a_dead_process_left_in_the_lock_file_is_no_holder(tmp_path):
    directory = Directory.acquire(tmp_path)
    said = (tmp_path / "lock").read_bytes()
    directory.release()
    (tmp_path / "lock").write_bytes(said)

    assert find_holder(tmp_path) is None


@pytest.mark.parametrize(
    ("device", "inode", "named", "holder"),
    [
        ((0xFE, 0), 77, NAMED, NAMED),
        ((0xFE, 0), 77, None, LockHolder(712, "this host", "")),
        ((0xFE, 0), 42, NAMED, None),  # Another kind of lock.
        ((0xFE, 0), 78, NAMED, None),  # Waits for it.
        ((0xFE, 1), 77, None, None),  # The same number on another disk.
        ((0xFE, 1), 77, NAMED, NAMED),  # A file system with two device numbers.
        ((0xFE, 0), 79, NAMED, None),
    ],
)
def test_the_kernels_list_names_the_file(device, inode, named, holder):
    assert holder_among(LOCKS, device, inode, named) == holder
