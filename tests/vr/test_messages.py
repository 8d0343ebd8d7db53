"""Messages survive their encoding, and nothing else is taken for one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusee.log.superblock import BatchId
from fusee.vr.messages import (
    BadMessage,
    Batches,
    Commit,
    DoViewChange,
    ExitView,
    GetBatches,
    GetLog,
    GetView,
    Held,
    LogRange,
    Place,
    Prepare,
    PrepareOk,
    StartView,
    decode,
    encode,
)

BATCH = BatchId(7, b"the hash of op 7")
HELD = Held(8, b"the hash of op 8", BATCH.hash, Place.DAMAGED)
MESSAGES = [
    Prepare(epoch=1, view=2, batch=b"bytes", commit=BATCH),
    PrepareOk(epoch=1, view=2, durable=BATCH, head_op=9, echo_ns=1 << 60),
    Commit(epoch=1, view=2, commit=BATCH, head_op=9, sent_ns=5),
    ExitView(epoch=1, view=1 << 62),
    DoViewChange(
        epoch=1,
        view=2,
        log_view=1,
        vouch=BATCH,
        commit=BATCH,
        head_op=8,
        unknown_op=9,
        unknown_op_max=9,
        suffix=(HELD,),
    ),
    StartView(epoch=1, view=2, start=BATCH, commit=BATCH, base=BATCH, links=(HELD, HELD)),
    GetView(epoch=1, view=2),
    GetBatches(epoch=1, view=2, wanted=(BATCH,)),
    Batches(epoch=1, view=2, batches=(b"", b"x")),
    GetLog(epoch=1, view=2, after=BATCH),
    LogRange(epoch=1, view=2, after=BATCH, batches=(b"x",), commit=BATCH),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda m: type(m).__name__)
def test_a_message_is_what_its_bytes_say(message):
    assert decode(encode(message)) == message


@given(st.binary(max_size=200))
def test_foreign_bytes_are_refused_by_name(data):
    try:
        decode(data)
    except BadMessage:
        return


@given(st.sampled_from(MESSAGES), st.data())
def test_a_message_with_flipped_or_missing_bytes_is_refused_or_another_message(message, data):
    encoded = bytearray(encode(message))
    place = data.draw(st.integers(0, len(encoded) - 1))
    if data.draw(st.booleans()):
        encoded[place] ^= 1 << data.draw(st.integers(0, 7))
    else:
        del encoded[place:]
    try:
        found = decode(bytes(encoded))
    except BadMessage:
        return
    assert encode(found) is not None


def test_what_is_no_message_says_why():
    with pytest.raises(BadMessage, match="Expected"):
        decode(b"\xc0")
