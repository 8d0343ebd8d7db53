"""Unit tags: every unit of every segment differs, and order survives the wrap of 39 bits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fusee.base.limits import SEGMENT_SIZE, UNIT_SIZE
from fusee.log.tags import FIRST_MARK, LAST_MARK, SEQ_MASK, UnitTag, is_older, mix, tag_base

seqs = st.integers(1, SEQ_MASK)
keys = st.integers(0, 2**64 - 1)
units = st.integers(0, SEGMENT_SIZE // UNIT_SIZE - 1)


def test_no_two_units_of_a_segment_share_a_mix():
    unit_count = SEGMENT_SIZE // UNIT_SIZE
    assert len({mix(unit) for unit in range(unit_count)}) == unit_count
    assert max(map(mix, range(unit_count))) < 1 << 24


@given(seqs, keys, units, st.booleans(), st.booleans())
def test_a_tag_reads_back(seq, key, unit, is_first, is_last):
    tag = tag_base(seq, key) ^ mix(unit)
    tag ^= FIRST_MARK if is_first else 0
    tag ^= LAST_MARK if is_last else 0
    read = UnitTag(tag, unit, key)
    assert (read.is_valid, read.seq) == (True, seq)
    assert (read.is_first, read.is_last) == (is_first, is_last)


@given(seqs, keys, units, units)
def test_a_unit_that_landed_elsewhere_in_the_file_is_not_valid(seq, key, unit, other):
    tag = tag_base(seq, key) ^ mix(unit)
    assert UnitTag(tag, other, key).is_valid == (unit == other)


@given(seqs, keys, units, st.integers(0, 63))
def test_a_flipped_bit_never_makes_an_older_unit(seq, key, unit, bit):
    tag = tag_base(seq, key) ^ mix(unit)
    assert not UnitTag(tag ^ 1 << bit, unit, key).is_valid


def test_zeros_are_no_tag_whatever_the_key():
    assert not any(UnitTag(0, unit, key).is_valid for unit in range(64) for key in range(64))


@given(st.integers(0, 2**60), st.integers(1, 2**38 - 1))
def test_older_is_decided_across_the_wrap(seq, distance):
    assert is_older(seq & SEQ_MASK, seq + distance)
    assert not is_older((seq + distance) & SEQ_MASK, seq)
    assert not is_older(seq & SEQ_MASK, seq)
