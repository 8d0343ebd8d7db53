"""The scan table of docs/internals/log.md, one test a row: two writes in flight."""

from __future__ import annotations

from fusee.base.limits import BLOCK_SIZE
from fusee.log.ending import EndClass
from tests.support.damage import TAG_PLACE, Written, expect, put_frame, second_in_flight


def test_a_frame_whose_envelope_and_tag_disagree_is_no_witness():
    log = Written()
    put_frame(log, log.offset + log.size, 5, log.opened.log.head_hash, durable_op=3)
    start = log.offset + log.size
    stolen = bytes(log.device.content[log.file][start : start + TAG_PLACE])
    put_frame(log, start, 5, log.opened.log.head_hash, durable_op=2, local_seq=1 << 20)
    log.device.content[log.file][start : start + TAG_PLACE] = stolen
    log.lose_unit(1)
    expect(log.reopen(), 2, EndClass.TORN, 2)


def test_case_10_a_torn_frame_before_one_written_beside_it_is_torn():
    log = Written()
    second_in_flight(log)
    assert log.reopen().end.op == 4, "both landed"
    log = Written()
    second_in_flight(log)
    log.lose_unit(1)
    expect(log.reopen(), 2, EndClass.TORN, 10)


def test_case_10_without_an_older_unit_the_frame_may_have_been_acknowledged():
    log = Written()
    second_in_flight(log)
    log.device.flip(log.file, log.offset + 600)
    opened = log.reopen()
    expect(opened, 2, EndClass.FAULTY, 10)
    assert opened.recovered.reports


def test_leftovers_of_a_dead_boot_never_complete_the_frame_that_overwrites_them():
    log = Written(size=9_000)
    log.lose_unit(*range(8))  # only the second and third block of the first attempt landed
    second = log.reopen()
    dead = log.device.copy()
    second.append(9_100)  # and of the second attempt only the first
    rest = slice(log.offset + BLOCK_SIZE, log.offset + log.size)
    log.device.content[log.file][rest] = dead.content[log.file][rest]
    expect(log.reopen(), 2, EndClass.TORN, 2)


def test_S_2_a_second_write_of_a_dead_boot_never_chains_onto_its_replacement():
    log = Written()
    second_in_flight(log)
    log.lose_unit(1)
    second = log.reopen()
    again = second.append(900)
    assert again.data == log.opened.batches[-1].data, "the same canonical bytes"
    assert log.reopen().end.op == 3
