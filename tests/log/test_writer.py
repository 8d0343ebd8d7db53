"""What the writer decides: durable prefixes, seals, segments ahead of need, recycling."""

from __future__ import annotations

import pytest

from fusee.log.segment import DATA_START, make_header, segment_name, spare_name
from fusee.log.superblock import Checkpoint
from fusee.log.writer import LogWriter
from tests.support.logs import SMALL, open_log
from tests.support.ram_device import RamDevice


def writer() -> LogWriter:
    return open_log(RamDevice()).log._writer


def put(log: LogWriter, op: int | None = None, size_bytes: int = 4096) -> int:
    if op is None:
        return log.begin(bytes(16), size_bytes, log.durable_op, log.head_op, None)
    return log.begin(bytes(16), size_bytes, log.durable_op, op, op.to_bytes(16, "little"))


def test_S_3_only_the_finished_prefix_without_a_gap_is_durable():
    log = writer()
    first, second = put(log, 1), put(log, 2)
    assert log.finish(second) == 0
    assert log.in_flight_count == 2
    assert log.finish(first) == 2
    assert log.in_flight_count == 0


def test_a_third_write_in_flight_is_our_bug():
    log = writer()
    put(log, 1)
    put(log, 2)
    with pytest.raises(AssertionError):
        put(log, 3)


def test_S_4_a_write_of_a_log_that_was_replaced_since_proves_nothing():
    log = writer()
    local_seq = put(log, 1)
    log.log_gen += 1
    assert log.finish(local_seq) == 0


def test_local_seq_is_dense_within_a_boot():
    log = writer()
    assert put(log, 2 - 1) + 1 == put(log, 2)


def test_S_7_a_seal_is_wanted_until_a_later_frame_is_durable():
    log = writer()
    assert not log.wants_seal, "an empty log has nothing to witness"
    log.finish(put(log, 1))
    assert log.wants_seal
    seal = put(log)
    assert not log.wants_seal, "not while a write is in flight"
    log.finish(seal)
    assert not log.wants_seal


def test_the_next_segment_is_due_from_a_quarter_of_this_one():
    log = writer()
    log.finish(put(log, 1))
    assert log.plan_next() is None
    log.finish(put(log, 2))
    plan = log.plan_next()
    assert plan is not None
    assert log.plan_next() is None, "one plan at a time"
    log.adopt(plan)
    assert log.plan_next(is_needed=True) is None, "it is there"
    assert plan.header.number == 2
    assert plan.header.first_seq == log.next_seq


def test_an_abandoned_plan_is_made_again():
    log = writer()
    plan = log.plan_next(is_needed=True)
    assert plan is not None
    log.abandon(plan)
    assert log.plan_next(is_needed=True) == plan


def test_a_roll_leaves_the_rest_of_the_segment_alone():
    log = writer()
    log.finish(put(log, 1))
    plan = log.plan_next(is_needed=True)
    assert plan is not None
    log.adopt(plan)
    log.roll()
    assert (log.file, log.offset) == (segment_name(2), DATA_START)
    assert [start.base.op for start in log.starts] == [0, 1]


def test_only_whole_segments_below_the_op_are_let_go():
    opened = open_log(RamDevice())
    while len(opened.log._writer.starts) < 3:
        opened.append(3_000)
    log = opened.log._writer
    second = log.starts[1].base.op
    assert log.plan_trim(second) is None
    trim = log.plan_trim(second + 1)
    assert trim is not None
    assert [header.number for header in trim.headers] == [1]
    assert trim.base == log.starts[1].base


def test_the_base_never_moves_past_a_frame_in_flight():
    log = writer()
    log.finish(put(log, 1))
    plan = log.plan_next(is_needed=True)
    assert plan is not None
    log.adopt(plan)
    last = put(log, 2)
    log.roll()
    assert log.plan_trim(3) is None
    log.finish(last)
    assert log.plan_trim(3) is not None


def test_a_spare_keeps_its_key_and_gets_a_new_life():
    opened = open_log(RamDevice())
    log = opened.log._writer
    while len(log.starts) < 4:
        opened.append(3_000)
    opened.log.trim(log.starts[3].base.op + 1, Checkpoint(opened.log.head_op, bytes(16)))
    plan = log.plan_next(is_needed=True)
    assert plan is not None
    assert plan.spare == spare_name(2), "the small first file waits for need"
    assert plan.header.life == 2
    assert plan.needed_bytes == 0


def test_a_spare_of_another_size_is_filled_anew():
    opened = open_log(RamDevice())
    log = opened.log._writer
    small = make_header(
        number=1, size_bytes=32_768, first_seq=2, group_id=bytes(16), incarnation=bytes(16)
    )
    log._spares = {"spare-000000000001": small}
    plan = log.plan_next(is_needed=True)
    assert plan is not None
    assert plan.is_refilled
    assert plan.needed_bytes == SMALL.next_bytes
