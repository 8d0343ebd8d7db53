"""Segment files: names, headers that survive a bad block, and a fill that is all tags."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusee.base.limits import BLOCK_SIZE, MIB, UNIT_SIZE
from fusee.log.frame import split_units
from fusee.log.segment import (
    DATA_START,
    BadSegment,
    SegmentFault,
    SegmentHeader,
    choose_header,
    decode_header,
    encode_header,
    fill,
    make_header,
    next_life,
    segment_name,
    segment_number,
    spare_name,
    spare_number,
)
from fusee.log.tags import UnitTag

GROUP = b"g" * 16


def make(number: int = 3, size_bytes: int = 64 * 1024, first_seq: int = 500) -> SegmentHeader:
    return make_header(
        number=number,
        size_bytes=size_bytes,
        first_seq=first_seq,
        group_id=GROUP,
        incarnation=b"i" * 16,
    )


@given(st.integers(1, 10**12 - 1))
def test_names_give_back_the_number_and_sort_by_it(number):
    assert segment_number(segment_name(number)) == number
    assert spare_number(spare_name(number)) == number
    assert segment_number(spare_name(number)) is None
    assert segment_name(number) <= segment_name(min(number + 1, 10**12 - 1))


@given(st.text(max_size=30))
def test_other_file_names_are_not_segments(name):
    number = segment_number(name)
    assert number is None or segment_name(number) == name


def test_a_header_reads_back_from_either_copy():
    data = encode_header(make())
    assert len(data) == DATA_START
    good = data[:BLOCK_SIZE]
    for copies in ([good, None], [None, good], [bytes(BLOCK_SIZE), good], [good, good]):
        assert choose_header(copies) == make()


def test_a_header_without_a_good_copy_is_refused():
    with pytest.raises(BadSegment) as caught:
        choose_header([None, bytes(BLOCK_SIZE)])
    assert caught.value.fault is SegmentFault.SHORT


def test_the_newer_life_wins_when_a_crash_left_both():
    old = make()
    new = next_life(old, number=9, first_seq=900)
    copies = [encode_header(new)[:BLOCK_SIZE], encode_header(old)[:BLOCK_SIZE]]
    assert choose_header(copies) == choose_header(copies[::-1]) == new
    assert new.file_key == old.file_key, "stale tags must stay checkable"
    assert (new.first_seq, new.life) == (900, 2)


@given(st.binary(max_size=BLOCK_SIZE))
def test_arbitrary_bytes_are_refused_by_name(data):
    with pytest.raises(BadSegment) as caught:
        decode_header(data)
    assert isinstance(caught.value.fault, SegmentFault)


@given(st.integers(0, 95), st.integers(0, 7))
def test_one_flipped_bit_is_refused(place, bit):
    data = bytearray(encode_header(make()))
    data[place] ^= 1 << bit
    with pytest.raises(BadSegment):
        decode_header(data[:BLOCK_SIZE])


@pytest.mark.parametrize("size_bytes", [0, 4096, 64 * MIB + 4096, 40_000, 2**63])
def test_an_impossible_size_is_refused(size_bytes):
    with pytest.raises(BadSegment) as caught:
        decode_header(encode_header(make(size_bytes=size_bytes))[:BLOCK_SIZE])
    assert caught.value.fault is SegmentFault.BAD_SIZE


def test_the_fill_is_tagged_in_every_unit_and_older_than_any_frame():
    header = make(size_bytes=2 * MIB + 64 * 1024)
    chunks = list(fill(header))
    data = b"".join(chunks)
    assert max(map(len, chunks)) <= MIB
    assert len(data) == header.size_bytes
    assert decode_header(data[:BLOCK_SIZE]) == header
    contents, tags = split_units(data[DATA_START:])
    first_unit = DATA_START // UNIT_SIZE
    read = [UnitTag(tag, first_unit + i, header.file_key) for i, tag in enumerate(tags)]
    assert all(tag.is_valid and not tag.is_first and not tag.is_last for tag in read)
    assert {tag.seq for tag in read} == {header.first_seq - 1}
    assert set(contents) == {bytes(504)}
