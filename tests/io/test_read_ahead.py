"""Reading ahead shows a scan what the device shows, and only does it sooner."""

from __future__ import annotations

import errno
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusee.base.limits import BLOCK_SIZE, MIB
from fusee.io.read_ahead import ReadAhead
from fusee.log.window import READ_BYTES, read_blocks

SIZES = {"short": 3 * BLOCK_SIZE, "long": 5 * MIB}
CONTENT = {name: (bytes(range(251)) * (size // 251 + 1))[:size] for name, size in SIZES.items()}


class Disk:
    """Files in memory, some blocks of which cannot be read, as often as told."""

    def __init__(self, bad_blocks: dict[int, int] | None = None) -> None:
        self.bad_blocks = dict(bad_blocks or {})
        self.asked: list[tuple[str, int, int]] = []
        self.readers = 0
        self.hurried = threading.Event()

    def read(self, file: str, offset: int, size: int) -> bytes:
        self.readers += 1
        assert self.readers == 1, "a device has one reader at a time"
        try:
            self.asked.append((file, offset, size))
            if len(self.asked) > 1:
                self.hurried.set()
            for block in range(offset // BLOCK_SIZE, (offset + size) // BLOCK_SIZE):
                if self.bad_blocks.get(block, 0) > 0:
                    self.bad_blocks[block] -= 1
                    raise OSError(errno.EIO, "bad block")
            return CONTENT[file][offset : offset + size]
        finally:
            self.readers -= 1


requests = st.lists(
    st.tuples(
        st.sampled_from(["long", "long", "long", "short"]),
        st.integers(0, 5 * MIB // BLOCK_SIZE + 2),
        st.sampled_from([1, 2, 64, 256, 300, 2048]),
    ),
    max_size=12,
)


@given(requests, st.sets(st.integers(0, 5 * MIB // BLOCK_SIZE), max_size=3))
def test_what_is_read_is_what_the_device_says(asked, bad_blocks):
    for_ever = dict.fromkeys(bad_blocks, 10**9)
    plain = Disk(for_ever)
    with ReadAhead(Disk(for_ever).read) as ahead:
        for file, block, count in asked:
            offset, size = block * BLOCK_SIZE, count * BLOCK_SIZE
            assert read_blocks(ahead.read, file, offset, size) == read_blocks(
                plain.read, file, offset, size
            )


@given(st.lists(st.integers(1, 300), min_size=1, max_size=40))
def test_a_scan_forward_in_pieces_that_overlap_reads_each_byte(steps):
    with ReadAhead(Disk().read) as ahead:
        offset = 0
        for step in steps:
            size = min(READ_BYTES, SIZES["long"] - offset)
            if size <= 0:
                break
            assert ahead.read("long", offset, size) == CONTENT["long"][offset : offset + size]
            offset += step * BLOCK_SIZE


def test_the_next_piece_is_read_before_it_is_asked_for():
    disk = Disk()
    with ReadAhead(disk.read) as ahead:
        ahead.read("long", 0, READ_BYTES)
        assert disk.hurried.wait(20)
        assert disk.asked == [("long", 0, READ_BYTES), ("long", READ_BYTES, READ_BYTES)]

        ahead.read("long", READ_BYTES - BLOCK_SIZE, READ_BYTES)

        assert ("long", READ_BYTES - BLOCK_SIZE, READ_BYTES) not in disk.asked


def test_an_error_met_ahead_is_the_callers_only_if_it_is_still_there():
    once = Disk({READ_BYTES // BLOCK_SIZE: 1})
    with ReadAhead(once.read) as ahead:
        ahead.read("long", 0, READ_BYTES)
        assert len(ahead.read("long", READ_BYTES, READ_BYTES)) == READ_BYTES

    always = Disk({READ_BYTES // BLOCK_SIZE: 10**9})
    with ReadAhead(always.read) as ahead:
        ahead.read("long", 0, READ_BYTES)
        with pytest.raises(OSError, match="bad block"):
            ahead.read("long", READ_BYTES, READ_BYTES)


def test_no_thread_is_left_and_no_read_goes_on_after_the_end():
    before = threading.active_count()
    disk = Disk()
    with ReadAhead(disk.read) as ahead:
        ahead.read("long", 0, READ_BYTES)
    asked = len(disk.asked)
    assert threading.active_count() == before
    assert disk.readers == 0
    assert len(disk.asked) == asked
