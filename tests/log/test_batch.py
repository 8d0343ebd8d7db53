"""The canonical batch: one content, one encoding, and foreign bytes refused by name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusee.log.batch import (
    BATCH_BYTES_MAX,
    HEADER_SIZE,
    BadBatch,
    Batch,
    BatchFault,
    BatchKind,
    build_batch,
    decode_batch,
    decode_header,
    sections,
)

GROUP = b"g" * 16
PREV = b"p" * 16


def make(parts: list[tuple[int, bytes]], **changes: int) -> Batch:
    values = {"epoch": 1, "view": 2, "op": 3, "commit_op": 2, "ts_us": 4, "group_count": 5}
    return build_batch(group_id=GROUP, prev=PREV, sections=parts, **(values | changes))


parts_strategy = st.dictionaries(
    st.integers(0, 2**32 - 1), st.binary(max_size=200), max_size=70
).map(lambda found: sorted(found.items()))


@given(parts_strategy)
def test_a_batch_reads_back_as_it_was_built(parts):
    batch = make(parts)
    again = decode_batch(batch.data)
    assert again == batch
    assert [(shard, bytes(content)) for shard, content in sections(again)] == parts
    assert decode_header(batch.data).hash == batch.hash


def test_its_bytes_and_hash_are_pinned():
    batch = make([(7, b"one step")])
    assert len(batch.data) == HEADER_SIZE + 8 + len(b"one step")
    assert batch.data[:8] == b"FsBt\x01\x01\x00\x00"
    assert batch.hash.hex() == "9634a6d916dad315decc560ff0a057e1"


def test_every_field_is_part_of_the_identity():
    hashes = {make([(1, b"x")]).hash, make([(2, b"x")]).hash, make([(1, b"y")]).hash}
    for name in ("epoch", "view", "op", "commit_op", "ts_us", "group_count"):
        hashes.add(make([(1, b"x")], **{name: 99}).hash)
    hashes.add(make([(1, b"x")], kind=BatchKind.EPOCH).hash)
    assert len(hashes) == 10


def test_a_batch_without_sections_is_a_batch():
    assert sections(decode_batch(make([]).data)) == []


def test_sections_out_of_order_are_our_bug():
    with pytest.raises(AssertionError):
        make([(2, b""), (1, b"")])


@given(st.binary(max_size=400))
def test_arbitrary_bytes_are_refused_by_name(data):
    with pytest.raises(BadBatch) as caught:
        decode_batch(data)
    assert isinstance(caught.value.fault, BatchFault)


@given(parts_strategy, st.data())
def test_one_flipped_bit_is_refused(parts, data):
    damaged = bytearray(make(parts).data)
    damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(BadBatch):
        decode_batch(bytes(damaged))


@given(st.integers(0, HEADER_SIZE + 20), st.binary(max_size=5))
def test_a_cut_or_padded_batch_is_refused(cut, padding):
    whole = make([(1, b"x" * 20)]).data
    cut_data = whole[:cut]
    for foreign in (cut_data, whole + padding):
        if foreign != whole:
            with pytest.raises(BadBatch):
                decode_batch(foreign)


def test_a_length_beyond_every_bound_is_refused_before_anything_is_allocated():
    with pytest.raises(BadBatch) as caught:
        decode_batch(bytes(BATCH_BYTES_MAX + 1))
    assert caught.value.fault is BatchFault.TOO_LONG


def test_damage_of_the_content_leaves_the_identity_readable():
    batch = make([(1, b"x" * 100)])
    damaged = batch.data[:-1] + b"?"
    with pytest.raises(BadBatch) as caught:
        decode_batch(damaged)
    assert caught.value.fault is BatchFault.PAYLOAD_DAMAGED
    assert (decode_header(damaged).op, decode_header(damaged).hash) == (batch.op, batch.hash)
