"""The scan table of docs/internals/log.md, one test a row: T, never acknowledged."""

from __future__ import annotations

from fusee.base.limits import BLOCK_SIZE, UNIT_SIZE
from fusee.log.ending import EndClass
from fusee.log.superblock import Checkpoint
from tests.support.damage import Written, expect, put_frame
from tests.support.logs import open_log
from tests.support.ram_device import RamDevice


def test_case_1_an_older_tag_is_the_end_of_the_log():
    log = Written()
    opened = log.reopen()
    expect(opened, 3, EndClass.TORN, 1)
    assert opened.recovered.reports == (), "an ordinary end is no news"


def test_case_1_holds_for_stale_frames_of_a_recycled_file():
    device = RamDevice()
    opened = open_log(device)
    for _ in range(150):
        opened.append(3000)
        opened.log.trim(opened.log.head_op, Checkpoint(opened.log.head_op, opened.log.head_hash))
        opened.log.prepare_ahead()
    assert max(start.header.life for start in opened.log._writer.starts) > 2
    again = open_log(device)
    assert again.batches == opened.batches[-len(again.batches) :]
    assert (again.end.op, again.end.case) == (150, 1)
    assert again.recovered.reports == ()


def test_case_2_a_valid_header_with_an_older_unit_is_torn():
    log = Written()
    log.lose_unit(1)
    expect(log.reopen(), 2, EndClass.TORN, 2)


def test_case_2_holds_when_the_lost_unit_is_only_padding():
    log = Written()
    log.lose_unit(7)
    expect(log.reopen(), 2, EndClass.TORN, 2)


def test_case_2_holds_in_the_last_block_of_a_long_frame():
    log = Written(size=13_000)
    assert log.size == 4 * BLOCK_SIZE
    log.lose_unit(31)
    expect(log.reopen(), 2, EndClass.TORN, 2)


def test_case_2_holds_when_two_boots_died_over_the_same_place():
    log = Written()
    log.lose_unit(5)
    second = log.reopen()
    first_attempt = log.device.copy()
    second.append(900)
    for unit in range(1, 8):  # of the second attempt only the header landed
        start = log.offset + unit * UNIT_SIZE
        old = first_attempt.content[log.file][start : start + UNIT_SIZE]
        log.device.content[log.file][start : start + UNIT_SIZE] = old
    expect(log.reopen(), 2, EndClass.TORN, 2)


def test_case_2_holds_when_only_the_rest_of_the_second_attempt_landed():
    log = Written()
    log.lose_unit(5)
    second = log.reopen()
    first_attempt = log.device.copy()
    second.append(900)
    old = first_attempt.content[log.file][log.offset : log.offset + UNIT_SIZE]
    log.device.content[log.file][log.offset : log.offset + UNIT_SIZE] = old
    assert log.reopen().end.end_class is EndClass.TORN


def test_case_3_garbage_beside_an_older_unit_is_torn():
    log = Written()
    log.garble_unit(0)
    log.lose_unit(4)
    expect(log.reopen(), 2, EndClass.TORN, 3)


def test_case_7_a_frame_that_does_not_continue_the_physical_chain_is_stale():
    log = Written(size=100)
    put_frame(log, log.offset + BLOCK_SIZE, 4, log.opened.log.head_hash, foreign_prev=1)
    expect(log.reopen(), 3, EndClass.TORN, 7)
