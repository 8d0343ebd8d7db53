"""The end of a log in memory is dense and chained, and forgets nothing that is damaged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusee.base.ids import OpNumber
from fusee.log.batch import build_batch
from fusee.log.superblock import BatchId
from fusee.vr.messages import NOTHING, Place
from fusee.vr.tail import Entry, LogTail, entry_of

GROUP = b"a group of tests"


def tail_of(*places: Place) -> LogTail:
    tail = LogTail()
    for op, place in enumerate(places, start=1):
        batch = build_batch(GROUP, 1, 1, OpNumber(op), tail.head.hash, 0, 0, [(0, b"x")])
        entry = entry_of(batch, place)
        if place is Place.DAMAGED:
            entry.batch = None
        tail.append(entry)
    return tail


PLACES = st.lists(st.sampled_from(list(Place)), max_size=12)


@given(PLACES, st.integers(0, 15))
def test_forgetting_keeps_the_head_and_everything_from_the_first_damage_on(places, op):
    tail = tail_of(*places)
    head, damaged = tail.head, [entry.op for entry in tail.damaged()]
    tail.forget(op)
    assert tail.head == head
    assert [entry.op for entry in tail.damaged()] == damaged
    assert tail.base.op <= min([op, head.op, *(first - 1 for first in damaged)])
    tail.check()


@given(PLACES)
def test_durable_ends_before_the_first_op_that_is_not(places):
    first = tail_of(*places).first_not_durable(0)
    assert all(place is Place.DURABLE for place in places[: first - 1])
    assert first == len(places) + 1 or places[first - 1] is not Place.DURABLE


def test_replacing_the_end_keeps_the_rest_and_checks_the_chain():
    tail = tail_of(*[Place.DURABLE] * 4)
    other = build_batch(GROUP, 1, 2, OpNumber(3), tail.id_at(2).hash, 0, 0, [(0, b"other")])
    tail.replace_after(2, [entry_of(other, Place.DURABLE)])
    assert tail.head == BatchId(3, other.hash)
    with pytest.raises(AssertionError, match="chain"):
        tail.replace_after(1, [Entry(2, b"2" * 16, b"another before..", Place.DURABLE, None)])


def test_a_gap_is_no_next_op():
    tail = tail_of(Place.DURABLE)
    skipped = build_batch(GROUP, 1, 1, OpNumber(3), tail.head.hash, 0, 0, [(0, b"x")])
    with pytest.raises(AssertionError, match="dense"):
        tail.append(entry_of(skipped, Place.MEMORY))
    assert LogTail().head == NOTHING
