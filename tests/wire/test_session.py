"""Sessions: what one replica says the other hears, and foreign bytes end them by name."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusee.base.limits import HELLO_BYTES_MAX
from fusee.log.superblock import BatchId
from fusee.vr.messages import Commit, ExitView, GetBatches
from fusee.wire.frame import FrameFault, FrameKind, encode_frame
from fusee.wire.hello import Purpose, Refusal
from fusee.wire.session import Session, message_frame
from tests.wire.groups import GROUP, blank, certificate, replica

ids = st.builds(BatchId, st.integers(0, 2**40), st.binary(min_size=16, max_size=16))
messages = st.one_of(
    st.builds(ExitView, epoch=st.just(1), view=st.integers(0, 2**40)),
    st.builds(
        Commit,
        epoch=st.just(1),
        view=st.just(2),
        commit=ids,
        head_op=st.just(9),
        sent_ns=st.just(5),
    ),
    st.builds(
        GetBatches, epoch=st.just(1), view=st.just(2), wanted=st.lists(ids, max_size=4).map(tuple)
    ),
)


def agreed(purpose=Purpose.PROTOCOL):
    """A caller and a listener that have let each other in."""
    caller = Session(replica("a"), None, wants=1, purpose=purpose)
    listener = Session(replica("b"), None)
    assert not listener.receive(caller.take_output())
    assert not caller.receive(listener.take_output())
    return caller, listener


def test_both_sides_know_each_other_after_the_hello():
    caller, listener = agreed()
    assert caller.peer is not None
    assert listener.peer is not None
    assert (caller.peer.slot, listener.peer.slot) == (1, 0)
    assert not caller.take_output()


@given(st.lists(messages, max_size=5), st.lists(st.integers(0, 400), max_size=6))
def test_messages_are_heard_as_they_were_said_however_the_stream_is_cut(said, places):
    caller, listener = agreed()
    data = b"".join(caller.frame_of(message) for message in said)
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]

    heard = [
        message for start, end in pairwise(edges) for message in listener.receive(data[start:end])
    ]

    assert heard == said
    assert not listener.is_over


@given(messages, st.integers(0, 10_000), st.integers(0, 7))
def test_no_flipped_bit_becomes_another_message(message, place, bit):
    caller, listener = agreed()
    data = bytearray(caller.frame_of(message))
    data[place % len(data)] ^= 1 << bit

    heard = listener.receive(bytes(data))
    listener.finish()

    assert not heard
    assert listener.ended is not None


@given(st.binary(max_size=200))
def test_a_stranger_s_bytes_are_refused_and_nothing_is_heard(data):
    for session in (Session(replica("b"), None), Session(replica("a"), None, wants=1)):
        assert not session.receive(data)
        session.finish()
        assert session.peer is None
        assert session.ended is not None or not data


def test_who_is_not_let_in_cannot_make_a_replica_keep_much():
    listener = Session(replica("b"), None)
    listener.receive(encode_frame(FrameKind.HELLO, bytes(HELLO_BYTES_MAX + 1))[:20])
    assert listener.ended is not None
    assert listener.ended.reason is FrameFault.TOO_LARGE


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (message_frame(GROUP, b"\xc1"), FrameFault.BAD_BODY),
        (message_frame(b"another group!!!", b"\x90"), FrameFault.DAMAGED),
        (encode_frame(FrameKind.MESSAGE, b"short"), FrameFault.DAMAGED),
        (encode_frame(FrameKind.HELLO, b"\x90"), FrameFault.UNEXPECTED_KIND),
        (encode_frame(FrameKind.REQUEST, b"\x90"), FrameFault.UNEXPECTED_KIND),
        (b"GET / HTTP/1.1\r\n\r\n", FrameFault.NOT_A_FRAME),
    ],
)
def test_what_does_not_belong_into_an_agreed_session_ends_it(data, fault):
    _, listener = agreed()
    assert not listener.receive(data)
    assert listener.ended is not None
    assert listener.ended.reason is fault
    assert not listener.receive(data)


def test_messages_before_what_is_wrong_are_heard():
    caller, listener = agreed()
    message = ExitView(epoch=1, view=3)
    assert listener.receive(caller.frame_of(message) + b"?") == [message]
    assert listener.is_over


def test_a_message_before_the_hello_is_out_of_turn():
    listener = Session(replica("b"), None)
    listener.receive(message_frame(GROUP, b"\x90"))
    assert listener.ended is not None
    assert listener.ended.reason is FrameFault.UNEXPECTED_KIND


def test_a_connection_for_calls_carries_no_messages_of_the_protocol():
    caller, listener = agreed(Purpose.CALLS)
    listener.receive(caller.frame_of(ExitView(epoch=1, view=3)))
    assert listener.ended is not None
    assert listener.ended.reason is FrameFault.UNEXPECTED_KIND


def test_a_refusal_reaches_the_caller_with_its_reason():
    caller = Session(replica("a"), None, wants=1)
    listener = Session(blank("b"), None)
    listener.receive(caller.take_output())
    caller.receive(listener.take_output())

    for session, is_theirs in ((listener, False), (caller, True)):
        assert session.ended is not None
        assert session.ended.reason is Refusal.NOT_INITIALISED
        assert session.ended.is_refusal_of_theirs is is_theirs


def test_a_caller_does_not_believe_a_listener_with_another_s_certificate():
    caller = Session(replica("a"), certificate("c"), wants=1)
    listener = Session(replica("b"), certificate("a"))
    listener.receive(caller.take_output())
    caller.receive(listener.take_output())
    assert caller.ended is not None
    assert caller.ended.reason is Refusal.INDEX_MISMATCH


def test_a_stream_that_ends_between_frames_is_no_fault():
    _, listener = agreed()
    listener.finish()
    assert listener.ended is None
