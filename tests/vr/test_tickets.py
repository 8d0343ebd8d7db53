"""Tickets and the normal case of a group of one: dense, in order, never split, committed once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusee.base.ids import OpNumber, ShardId
from fusee.base.limits import BATCH_CLOSE_BYTES
from fusee.record.group import encode_group, encode_records
from fusee.record.kinds import Delivered
from fusee.vr.quorum import quorum_op, quorum_size
from fusee.vr.tickets import Tickets


def group(size: int = 10) -> bytes:
    return encode_group("w" * max(1, size), 1, 0, encode_records([Delivered(1, 1)]))


sizes = st.sampled_from([10, 1000, 200_000, BATCH_CLOSE_BYTES // 2, BATCH_CLOSE_BYTES + 5])
tickets_of = st.lists(st.lists(st.tuples(st.integers(0, 3), sizes), min_size=1, max_size=3))


@given(tickets_of)
def test_batches_take_whole_tickets_in_order_and_commit_their_last(
    asked: list[list[tuple[int, int]]],
) -> None:
    tickets = Tickets()
    total = 0
    for number, parts in enumerate(asked, 1):
        groups = [(ShardId(shard), group(size)) for shard, size in parts]
        total += sum(len(g) for _, g in groups)
        ticket = tickets.append(*groups[0]) if len(groups) == 1 else tickets.append_together(groups)
        assert ticket == number == tickets.appended
    assert tickets.bytes_uncommitted == total

    op, batch_sizes = 0, []
    while tickets.waiting:
        op += 1
        first = tickets.waiting[0][0]
        sections = tickets.take(OpNumber(op))
        assert [shard for shard, _ in sections] == sorted({shard for shard, _ in sections})
        last = tickets.in_batches[-1][1]
        if tickets.waiting:
            assert tickets.waiting[0][0] == last + 1, "no ticket is in two batches"
        assert last >= first
        batch_sizes.append((sum(len(data) for _, data in sections), last - first + 1))
    for size, count in batch_sizes:
        assert size <= BATCH_CLOSE_BYTES + 1000 or count == 1, "a large ticket is alone"

    committed = [tickets.commit(OpNumber(number)) for number in range(1, op + 1)]
    assert committed == sorted(committed)
    assert not committed or committed[-1] == len(asked)
    assert tickets.bytes_uncommitted == 0


def test_committing_again_changes_nothing() -> None:
    tickets = Tickets()
    tickets.append(ShardId(0), group())
    tickets.take(OpNumber(1))
    assert tickets.commit(OpNumber(1)) == tickets.commit(OpNumber(1)) == 1


@given(st.lists(st.integers(0, 50), min_size=1, max_size=5), st.integers(1, 5))
def test_the_quorums_op_is_the_highest_that_enough_members_hold(ops: list, quorum: int) -> None:
    decided = quorum_op([OpNumber(op) for op in ops], quorum)
    assert sum(op >= decided for op in ops) >= quorum or decided == 0
    assert sum(op > decided for op in ops) < quorum


@pytest.mark.parametrize(("members", "quorum"), [(1, 1), (3, 2), (5, 3)])
def test_a_quorum_is_a_majority(members: int, quorum: int) -> None:
    assert quorum_size(members) == quorum


def test_groups_of_even_size_do_not_exist() -> None:
    with pytest.raises(AssertionError):
        quorum_size(2)
