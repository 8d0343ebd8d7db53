"""The scan table of docs/internals/log.md, one test a row: F and U, when nothing later tells."""

from __future__ import annotations

import pytest

from fusee.base.errors import AcknowledgedDataLost, DirectoryRefused
from fusee.base.limits import BLOCK_SIZE, UNIT_SIZE
from fusee.log.damage import Evidence, Finding, end_class
from fusee.log.ending import EndClass, Place
from fusee.log.scan import LogScan
from fusee.log.superblock import BatchId
from tests.support.damage import Written, expect
from tests.support.logs import open_log
from tests.support.ram_device import RamDevice


def test_case_4_damaged_content_keeps_its_identity_and_is_reported_loudly():
    log = Written()
    log.device.flip(log.file, log.offset + 600)
    opened = log.reopen()
    expect(opened, 2, EndClass.FAULTY, 4)
    last = log.opened.batches[-1]
    assert opened.end.identity == BatchId(last.op, last.hash)
    assert opened.recovered.reports == (opened.end.report,)
    assert f"{log.file}, byte {log.offset}, op 3" in opened.end.report


@pytest.mark.parametrize("block", [0, 2])
def test_what_the_disk_cannot_read_is_refused_alone_and_may_be_well_the_next_time(block):
    log = Written(size=13_000)
    log.device.unreadable.add((log.file, log.offset + block * BLOCK_SIZE))

    with pytest.raises(DirectoryRefused, match="reports errors when it is read"):
        log.reopen()

    log.device.unreadable.clear()
    assert log.reopen().log.head_op == 3


@pytest.mark.parametrize(("block", "kind", "case"), [(0, "U", 5), (2, "F", 4)])
def test_cases_4_and_5_hold_for_a_block_that_cannot_be_read_where_peers_can_be_asked(
    block, kind, case
):
    log = Written(size=13_000)
    log.device.unreadable.add((log.file, log.offset + block * BLOCK_SIZE))
    device = log.device
    found = LogScan(device.read, device.files(), log.opened.log.superblock, is_alone=False)

    assert len(list(found.batches())) == 2

    assert (found.end.end_class, found.end.case) == (kind, case)


def test_case_5_an_unreadable_header_without_an_older_unit_is_unknown():
    log = Written()
    log.garble_unit(0)
    opened = log.reopen()
    expect(opened, 2, EndClass.UNKNOWN, 5)
    assert "op 3" in opened.recovered.reports[0]


def test_case_5_holds_for_a_discarded_block_that_reads_as_zeros():
    log = Written()
    log.device.content[log.file][log.offset : log.offset + log.size] = bytes(log.size)
    expect(log.reopen(), 2, EndClass.UNKNOWN, 5)


SEAL_TAG = 4 * UNIT_SIZE - 1


@pytest.mark.parametrize("byte", [0, 100, SEAL_TAG])
def test_a_whole_batch_behind_a_damaged_seal_is_never_dropped(byte):
    """It was perhaps acknowledged, and there it lies."""
    log = Written()
    log.opened.seal()
    file, offset, _ = log.device.writes[-1]
    log.opened.append(100)
    log.device.flip(file, offset + byte)
    with pytest.raises(AcknowledgedDataLost, match="the next batch lies whole behind it"):
        log.reopen()


def test_what_an_end_in_doubt_left_behind_is_no_witness_against_a_later_boot():
    log = Written()
    log.opened.seal()
    file, offset, _ = log.device.writes[-1]
    log.opened.append(100)
    log.opened.append(100)
    log.device.garble(file, offset + BLOCK_SIZE)
    log.device.flip(file, offset + SEAL_TAG)
    log.device.flip(file, offset + 2 * BLOCK_SIZE)
    opened = log.reopen()
    assert opened.end.end_class is not EndClass.TORN
    assert log.reopen().log.head_op == opened.log.head_op


def test_what_is_damaged_and_known_to_be_a_batch_is_no_seal_before_the_next_one():
    """Behind it then lies what a boot left whose end was in doubt, with the same op."""
    place = Place(1, "segment-000000000001", 8192, 3)
    evidence = Evidence(witness=None, is_later_frame=True, seq_max=9, next_batch=place)
    batch = Finding(4, "its content is damaged", BatchId(3, b"hash"))
    assert end_class(batch, evidence)[:2] == (EndClass.FAULTY, 10)
    assert end_class(Finding(5, "unreadable header"), evidence)[:2] == (EndClass.FAULTY, 6)


def test_a_damaged_seal_does_not_prove_that_nothing_followed_it():
    log = Written()
    log.opened.seal()
    file, offset, _ = log.device.writes[-1]
    log.opened.append(100)
    log.device.flip(file, offset + SEAL_TAG)
    log.device.garble(file, offset + BLOCK_SIZE)
    expect(log.reopen(), 3, EndClass.UNKNOWN, 5)


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


class MisreadOnce(RamDevice):
    """Returns another block's content once, for the block that holds a place, after some reads."""

    misread: tuple[str, int] | None = None
    good_reads: int = 0

    def read(self, file, offset, size):
        data = super().read(file, offset, size)
        if self.misread and self.misread[0] == file and 0 <= self.misread[1] - offset < size:
            self.good_reads -= 1
            if self.good_reads >= 0:
                return data
            start = self.misread[1] - offset
            data = data[:start] + data[:BLOCK_SIZE] + data[start + BLOCK_SIZE :]
            self.misread = None
        return data


def test_a_block_that_is_read_wrongly_once_does_not_end_the_log():
    log = Written()
    device = MisreadOnce()
    device.content = log.device.content
    before = {name: bytes(content) for name, content in device.content.items()}
    device.misread = (log.file, log.offset)
    with pytest.raises(DirectoryRefused, match="other bytes when it was read again"):
        open_log(device, new=False)
    assert device.content == before
    assert open_log(device, new=False).end.op == 3


@pytest.mark.parametrize("good_reads", [0, 1])
def test_a_witness_that_is_read_wrongly_once_is_heard_all_the_same(good_reads):
    """The first read of its block is that of the chain; the second one looks for witnesses."""
    log = Written(size=5_000)
    log.garble_unit(0)
    log.opened.append(100)
    witness = log.device.writes[-1]
    device = MisreadOnce()
    device.content = log.device.content
    before = {name: bytes(content) for name, content in device.content.items()}
    device.misread, device.good_reads = witness[:2], good_reads
    with pytest.raises(AcknowledgedDataLost, match="a later frame proves"):
        open_log(device, new=False)
    assert device.misread is None
    assert device.content == before


def test_a_doubt_that_is_another_one_at_the_second_look_is_refused():
    log = Written(size=13_000)
    log.device.flip(log.file, log.offset + 600)
    device = MisreadOnce()
    device.content = log.device.content
    device.misread = (log.file, log.offset)
    with pytest.raises(DirectoryRefused, match="read again: unreadable header.*content is damaged"):
        open_log(device, new=False)
    assert open_log(device, new=False).end.case == 4
