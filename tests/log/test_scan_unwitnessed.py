"""The scan table of docs/internals/log.md, one test a row: F and U, when nothing later tells."""

from __future__ import annotations

from fusee.base.limits import BLOCK_SIZE
from fusee.log.ending import EndClass
from fusee.log.superblock import BatchId
from tests.support.damage import Written, expect


def test_case_4_damaged_content_keeps_its_identity_and_is_reported_loudly():
    log = Written()
    log.device.flip(log.file, log.offset + 600)
    opened = log.reopen()
    expect(opened, 2, EndClass.FAULTY, 4)
    last = log.opened.batches[-1]
    assert opened.end.identity == BatchId(last.op, last.hash)
    assert opened.recovered.reports == (opened.end.report,)
    assert f"{log.file}, byte {log.offset}, op 3" in opened.end.report


def test_case_4_holds_for_a_block_of_the_body_that_cannot_be_read():
    log = Written(size=13_000)
    log.device.unreadable.add((log.file, log.offset + 2 * BLOCK_SIZE))
    expect(log.reopen(), 2, EndClass.FAULTY, 4)


def test_case_5_an_unreadable_header_without_an_older_unit_is_unknown():
    log = Written()
    log.garble_unit(0)
    opened = log.reopen()
    expect(opened, 2, EndClass.UNKNOWN, 5)
    assert "op 3" in opened.recovered.reports[0]


def test_case_5_holds_for_a_header_block_that_cannot_be_read():
    log = Written()
    log.device.unreadable.add((log.file, log.offset))
    expect(log.reopen(), 2, EndClass.UNKNOWN, 5)


def test_case_5_holds_for_a_discarded_block_that_reads_as_zeros():
    log = Written()
    log.device.content[log.file][log.offset : log.offset + log.size] = bytes(log.size)
    expect(log.reopen(), 2, EndClass.UNKNOWN, 5)


def test_S_11_an_uncertain_end_is_noted_before_anything_overwrites_it():
    log = Written()
    log.garble_unit(0)
    opened = log.reopen()
    unknown = opened.log.superblock.unknown
    assert unknown is not None
    assert unknown.op == 3
    again = log.reopen()
    assert again.log.superblock.unknown == unknown, "until the batch is durable"
    again.append()
    assert log.reopen().log.superblock.unknown is None
