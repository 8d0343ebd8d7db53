"""Frames: what is written into units comes back, and nothing else is taken for a frame."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fusee.base.limits import BLOCK_SIZE, UNIT_SIZE
from fusee.log.frame import (
    ENVELOPE_SIZE,
    BadFrame,
    FrameFault,
    FrameKind,
    decode_envelope,
    encode_frame_into,
    expected_tags,
    frame_bytes,
    join_body,
    split_units,
)
from fusee.log.tags import BLOCK_CONTENT, UnitTag

KEY = 0x1234_5678_9ABC_DEF0
OFFSET = 12 * BLOCK_SIZE


def make(body: bytes, **changes: int) -> bytearray:
    values = {
        "kind": FrameKind.BATCH,
        "boot_count": 3,
        "local_seq": 1_000,
        "log_gen": 0,
        "accept_view": 2,
        "durable_op": 8,
        "op": 9,
    }
    buffer = bytearray(b"\xee" * frame_bytes(len(body)))
    encode_frame_into(
        memoryview(buffer),
        OFFSET,
        KEY,
        prev_local=b"p" * 16,
        body_hash=b"h" * 16,
        body=body,
        **(values | changes),
    )
    return buffer


sizes = st.one_of(
    st.integers(0, 600),
    st.integers(BLOCK_CONTENT - ENVELOPE_SIZE - 3, BLOCK_CONTENT - ENVELOPE_SIZE + 3),
    st.integers(0, 5 * BLOCK_CONTENT),
)


@settings(max_examples=60, deadline=None)
@given(sizes)
def test_a_frame_reads_back_whatever_its_size(size):
    body = bytes(i * 7 & 0xFF for i in range(size))
    frame = make(body)
    contents, tags = split_units(frame)
    envelope = decode_envelope(contents[0])
    assert join_body(contents, envelope.body_bytes) == body
    assert (envelope.local_seq, envelope.durable_op, envelope.op) == (1_000, 8, 9)
    assert tags == expected_tags(OFFSET, len(frame) // BLOCK_SIZE, 1_000, KEY)


@settings(max_examples=30, deadline=None)
@given(sizes)
def test_every_unit_carries_the_tag_and_only_the_ends_are_marked(size):
    frame = make(b"x" * size)
    _, raw = split_units(frame)
    tags = [UnitTag(tag, OFFSET // UNIT_SIZE + i, KEY) for i, tag in enumerate(raw)]
    assert all(tag.is_valid and tag.seq == 1_000 for tag in tags)
    assert [tag.is_first for tag in tags] == [True] + [False] * (len(tags) - 1)
    assert [tag.is_last for tag in tags] == [False] * (len(tags) - 1) + [True]


def test_what_the_buffer_held_before_never_reaches_the_disk():
    contents, _ = split_units(make(b""))
    assert b"\xee" not in b"".join(contents)[ENVELOPE_SIZE:]


def test_content_that_imitates_a_header_lacks_the_first_mark():
    inner = bytes(make(b"")[:504])
    padding = bytes(BLOCK_CONTENT - ENVELOPE_SIZE)
    contents, tags = split_units(make(padding + inner))
    assert decode_envelope(contents[8]).op == 9, "the imitation is perfect"
    assert not UnitTag(tags[8], OFFSET // UNIT_SIZE + 8, KEY).is_first


@given(st.binary(max_size=600))
def test_arbitrary_bytes_are_refused_by_name(data):
    with pytest.raises(BadFrame) as caught:
        decode_envelope(data)
    assert isinstance(caught.value.fault, FrameFault)


@given(st.integers(0, ENVELOPE_SIZE * 8 - 1))
def test_one_flipped_bit_of_the_envelope_is_refused(bit):
    frame = make(b"body")
    frame[bit // 8] ^= 1 << bit % 8
    with pytest.raises(BadFrame):
        decode_envelope(frame[:504])


@given(st.integers(0, ENVELOPE_SIZE - 1))
def test_a_cut_envelope_is_refused(cut):
    with pytest.raises(BadFrame) as caught:
        decode_envelope(bytes(make(b""))[:cut])
    assert caught.value.fault is FrameFault.SHORT


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"durable_op": 9}, FrameFault.BAD_WITNESS),
        ({"kind": FrameKind.SEAL, "durable_op": 10}, FrameFault.BAD_WITNESS),
        ({"kind": 77}, FrameFault.UNKNOWN_KIND),
    ],
)
def test_a_well_formed_lie_is_refused_by_name(changes, fault):
    with pytest.raises(BadFrame) as caught:
        decode_envelope(bytes(make(b"", **changes))[:504])
    assert caught.value.fault is fault
