"""Requests and answers come out as they went in; foreign bytes are refused, never crash."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusee.admin.messages import (
    Answered,
    AskInfo,
    AskQuery,
    AskRun,
    AskRuns,
    OwnerInfo,
    RefusalKind,
    Refused,
    Runs,
    SendSignal,
    Shown,
    Signalled,
    decode_answer,
    decode_request,
    encode_message,
)
from fusee.admin.refusals import refusal_of
from fusee.base import errors
from fusee.engine.listing import Wanted
from fusee.engine.views import JournalEntry, PendingOperation, RunInfo, RunRow, RunStatus
from fusee.wire.frame import BadFrame, FrameFault

AT = datetime(2026, 6, 2, 14, 22, 9, tzinfo=UTC)
PENDING = [PendingOperation(1, "step", "s", 2)]
INFO = RunInfo("a/b", 1, "w", "1", RunStatus.RUNNING, AT, held="no-code", pending=PENDING)
ENTRY = JournalEntry(1, "step", "s", "{}", None, "scheduled", False, AT, None, 2, ["E: x"])
REQUESTS = [
    AskInfo(),
    AskRuns(Wanted("held", "w@1", 3)),
    AskRun("a/b", 2),
    SendSignal("a", "go", b"true", "id-1"),
    AskQuery("a", "cart", b""),
]
ANSWERS = [
    OwnerInfo(1, "0.1", ["w@1"], 2, 1, {"not a frame": 3}),
    Runs([RunRow("a", 1, "w", "1", RunStatus.FAILED, None, AT, AT)]),
    Shown(INFO, [ENTRY]),
    Signalled(True),
    Answered(b"{}"),
    Refused(RefusalKind.HELD, "why"),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda r: type(r).__name__)
def test_a_request_comes_out_as_it_went_in(request_):
    assert decode_request(encode_message(request_)) == request_


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda a: type(a).__name__)
def test_an_answer_comes_out_as_it_went_in(answer):
    assert decode_answer(encode_message(answer)) == answer


def fault_of(decode, data):
    """Why the bytes are no message, None when they are one."""
    try:
        assert isinstance(decode(data), msgspec.Struct)
    except BadFrame as bad:
        return bad.fault
    return None


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_a_message_or_a_bad_body(data):
    for decode in (decode_request, decode_answer):
        assert fault_of(decode, data) in (None, FrameFault.BAD_BODY)


@given(st.sampled_from([*REQUESTS, *ANSWERS]), st.integers(0, 7), st.integers(0, 10_000))
def test_flipped_and_cut_messages_are_a_message_or_a_bad_body(message, bit, place):
    data = bytearray(encode_message(message))
    data[place % len(data)] ^= 1 << bit
    for damaged in (bytes(data), bytes(data[: place % len(data)])):
        for decode in (decode_request, decode_answer):
            assert fault_of(decode, damaged) in (None, FrameFault.BAD_BODY)


def test_deep_nesting_is_refused_without_running_out_of_stack():
    body = b"\x82\xa4type\xa4info\xa1x" + b"\x91" * 200_000 + b"\xc0"

    with pytest.raises(BadFrame):
        decode_request(body)


def test_a_field_of_a_later_release_is_passed_over():
    body = msgspec.msgpack.encode({"type": "run", "id": "a", "since_2_0": [1, 2]})

    assert decode_request(body) == AskRun("a")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (errors.RunNotFound("x"), RefusalKind.NOT_FOUND),
        (errors.RunHeld("x"), RefusalKind.HELD),
        (errors.UnknownHandler("x"), RefusalKind.UNKNOWN_HANDLER),
        (errors.QueryFailed("x"), RefusalKind.FAILED),
        (errors.Backlogged("x"), RefusalKind.BACKLOGGED),
        (errors.EngineStopped("x"), RefusalKind.STOPPED),
        (errors.DecodeError("x"), RefusalKind.INVALID),
        (KeyError("x"), RefusalKind.INTERNAL),
    ],
)
def test_each_error_has_its_word(error, kind):
    assert refusal_of(error).kind == kind


def test_a_text_that_is_no_unicode_can_still_be_told():
    refused = refusal_of(ValueError("\udc80"))

    assert decode_answer(encode_message(refused)) == refused
