"""Frames: what goes in comes out, and foreign bytes are refused by name without harm."""

from __future__ import annotations

import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusee.base.limits import WIRE_FRAME_BYTES_MAX
from fusee.wire.frame import (
    HEADER_SIZE,
    BadFrame,
    Frame,
    FrameDecoder,
    FrameFault,
    FrameKind,
    encode_frame,
    encode_parts,
)

frames = st.lists(st.tuples(st.sampled_from(FrameKind), st.binary(max_size=60)), max_size=6)


def cut(data, places):
    """The same bytes in pieces."""
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


def read(pieces, **limits):
    """All frames up to the end or the first fault, and that fault."""
    decoder = FrameDecoder(**limits)
    found = []
    try:
        for piece in pieces:
            decoder.feed(piece)
            while (frame := decoder.take()) is not None:
                found.append(frame)
        decoder.finish()
    except BadFrame as bad:
        return found, bad.fault
    return found, None


@given(frames, st.lists(st.integers(0, 500), max_size=8))
def test_frames_come_out_as_they_went_in_however_the_stream_is_cut(sent, places):
    data = b"".join(encode_frame(kind, body) for kind, body in sent)

    found, fault = read(cut(data, places))

    assert [(frame.kind, frame.body) for frame in found] == sent
    assert fault is None


@given(st.binary(max_size=300), st.integers(1, 50))
def test_an_answer_in_parts_is_whole_again(body, part_bytes):
    found, fault = read([b"".join(encode_parts(body, part_bytes))])

    assert b"".join(frame.body for frame in found) == body
    assert [frame.kind for frame in found[:-1]] == [FrameKind.PART] * (len(found) - 1)
    assert found[-1].kind is FrameKind.LAST
    assert fault is None


@given(st.binary(max_size=200), st.lists(st.integers(0, 500), max_size=4))
def test_arbitrary_bytes_are_refused_by_name_or_wait_for_more(data, places):
    found, fault = read(cut(data, places))

    consumed = sum(HEADER_SIZE + len(frame.body) for frame in found)
    assert fault is not None or consumed == len(data)


@given(frames.filter(bool), st.data())
def test_a_stream_that_ends_within_a_frame_is_cut_off(sent, data):
    whole = b"".join(encode_frame(kind, body) for kind, body in sent)
    last = HEADER_SIZE + len(sent[-1][1])
    end = len(whole) - data.draw(st.integers(1, last - 1))

    found, fault = read([whole[:end]])

    assert len(found) == len(sent) - 1
    assert fault is FrameFault.CUT_OFF


@given(frames.filter(bool), st.integers(0, 7), st.integers(0, 500))
def test_a_flipped_bit_never_gives_more_than_was_sent(sent, bit, place):
    whole = bytearray(b"".join(encode_frame(kind, body) for kind, body in sent))
    whole[place % len(whole)] ^= 1 << bit

    found, fault = read([bytes(whole)])

    assert sum(len(frame.body) for frame in found) <= len(whole)
    assert len(found) <= len(whole) // HEADER_SIZE
    assert fault is None or isinstance(fault, FrameFault)


@pytest.mark.parametrize(
    ("header", "fault"),
    [
        (b"G", FrameFault.NOT_A_FRAME),
        (b"GET / HTTP/1.1\r\n", FrameFault.NOT_A_FRAME),
        (b"fz\x02", FrameFault.OTHER_VERSION),
        (b"fz\x01\x00", FrameFault.UNKNOWN_KIND),
        (b"fz\x01\x09", FrameFault.UNKNOWN_KIND),
        (b"fz\x01\x01" + struct.pack("<I", WIRE_FRAME_BYTES_MAX + 1), FrameFault.TOO_LARGE),
        (b"fz\x01\x01" + struct.pack("<I", WIRE_FRAME_BYTES_MAX), FrameFault.CUT_OFF),
    ],
)
def test_each_fault_is_named_at_the_first_byte_that_shows_it(header, fault):
    assert read([header]) == ([], fault)


def test_after_a_fault_nothing_more_is_kept_or_given():
    decoder = FrameDecoder()
    decoder.feed(b"x")
    with pytest.raises(BadFrame):
        decoder.take()

    decoder.feed(encode_frame(FrameKind.REQUEST, b"later"))

    with pytest.raises(BadFrame, match="not a frame"):
        decoder.take()
    with pytest.raises(BadFrame):
        decoder.finish()
    assert not decoder.is_between_frames


def test_the_limit_is_of_the_body():
    frame = encode_frame(FrameKind.REQUEST, b"12345")

    assert read([frame], body_bytes_max=5) == ([Frame(FrameKind.REQUEST, b"12345")], None)
    assert read([frame], body_bytes_max=4) == ([], FrameFault.TOO_LARGE)
