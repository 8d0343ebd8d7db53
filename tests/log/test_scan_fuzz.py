"""The scan on foreign bytes: it ends, in bounded memory, with a log or a named refusal."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusee.base.errors import AcknowledgedDataLost, DirectoryRefused
from fusee.base.limits import BLOCK_SIZE
from fusee.log.ending import EndClass
from fusee.log.scan import LogScan
from fusee.log.segment import DATA_START, segment_name
from fusee.log.window import Window, read_blocks
from tests.support.logs import Opened, open_log
from tests.support.ram_device import RamDevice


def sample() -> Opened:
    opened = open_log(RamDevice())
    for size in (100, 9_000, 100, 20_000, 500, 100):
        opened.append(size)
    opened.seal()
    return opened


def scan(device: RamDevice, opened: Opened) -> LogScan | None:
    """Scan without changing anything; None for a refusal."""
    try:
        found = LogScan(device.read, device.files(), opened.log.superblock)
        batches = list(found.batches())
    except (AcknowledgedDataLost, DirectoryRefused):
        return None
    assert batches == opened.batches[: len(batches)]
    return found


@given(st.integers(0, 2**32), st.integers(1, 6))
def test_garbage_anywhere_is_refused_or_ends_the_log_with_a_report(seed, places):
    opened = sample()
    device, random = opened.device.copy(), Random(seed)
    for _ in range(places):
        file = random.choice([name for name in device.files() if name != "superblock"])
        offset = random.randrange(DATA_START, device.size(file))
        device.garble(
            file, offset, min(random.choice((1, 8, 600, 5_000)), device.size(file) - offset)
        )
    found = scan(device, opened)
    if found is not None and found.end.op < opened.log.head_op:
        assert found.end.report


@given(st.integers(0, 2**32))
def test_blocks_that_moved_within_the_file_are_not_accepted(seed):
    opened = sample()
    device, random = opened.device.copy(), Random(seed)
    file = segment_name(random.choice((1, 2)))
    blocks = device.size(file) // BLOCK_SIZE
    source, target = (random.randrange(2, blocks) * BLOCK_SIZE for _ in range(2))
    image = device.content[file]
    image[target : target + BLOCK_SIZE] = image[source : source + BLOCK_SIZE]
    scan(device, opened)


@given(st.integers(0, 2**32), st.booleans())
def test_an_older_copy_of_a_whole_file_is_refused_or_ends_the_log(seed, which):
    opened = open_log(RamDevice())
    random = Random(seed)
    copies = [opened.device.copy()]
    for _ in range(12):
        opened.append(random.choice((100, 9_000)))
        copies.append(opened.device.copy())
    old = random.choice(copies)
    device = opened.device.copy()
    file = random.choice([name for name in old.files() if name.startswith("segment")])
    device.content[file] = old.content[file]
    scan(device, opened)


@given(st.integers(0, 60_000))
def test_a_file_cut_short_is_refused_wherever_it_was_cut(size):
    opened = sample()
    device = opened.device.copy()
    image = device.content[segment_name(1)]
    del image[size % len(image) :]
    assert scan(device, opened) is None


@pytest.mark.parametrize("value", [0x00, 0xFF])
def test_a_file_of_one_byte_value_is_unknown_not_torn(value):
    opened = open_log(RamDevice())
    device = opened.device.copy()
    image = device.content[segment_name(1)]
    image[DATA_START:] = bytes([value]) * (len(image) - DATA_START)
    found = scan(device, opened)
    assert found is not None
    assert found.end.end_class is EndClass.UNKNOWN


def test_a_segment_of_another_directory_is_refused():
    opened = sample()
    device = opened.device.copy()
    image = device.content[segment_name(2)]
    image[:DATA_START] = device.content[segment_name(1)][:DATA_START]
    with pytest.raises(DirectoryRefused, match="another place"):
        list(LogScan(device.read, device.files(), opened.log.superblock).batches())


def test_unreadable_blocks_cost_only_themselves():
    device = RamDevice()
    device.content["file"] = bytearray(b"x" * 5 * BLOCK_SIZE)
    device.unreadable.add(("file", 2 * BLOCK_SIZE))
    data = read_blocks(device.read, "file", 0, 6 * BLOCK_SIZE)
    good = b"x" * BLOCK_SIZE
    assert data == good * 2 + bytes(BLOCK_SIZE) + good * 2 + bytes(BLOCK_SIZE)


def test_a_window_reads_large_pieces_and_never_beyond_the_segment():
    opened = sample()
    header = opened.log._writer.starts[0].header
    reads: list[tuple[int, int]] = []

    def read(file: str, offset: int, size: int) -> bytes:
        reads.append((offset, size))
        return opened.device.read(file, offset, size)

    window = Window(read, header)
    for offset in range(0, header.size_bytes, BLOCK_SIZE):
        assert len(window.get(offset, BLOCK_SIZE)) == BLOCK_SIZE
    assert reads == [(0, header.size_bytes)]
