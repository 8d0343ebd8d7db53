"""The recoverability oracle, on disks that are damaged to measure."""

from __future__ import annotations

from random import Random

import pytest

from fusee.base.errors import AcknowledgedDataLost, DirectoryRefused
from fusee.io.file_log import FileLog
from fusee.log import superblock as sb
from fusee.log.segment import segment_name
from fusee.testing.checkers.recoverable import Forecast, forecast
from fusee.testing.checkers.reopened import check_opened, check_refused
from fusee.testing.checkers.written import Written
from fusee.testing.device import SimDevice
from fusee.testing.disk import Disk
from tests.support.logs import NEW, SMALL, next_batch
from tests.support.submitters import InlineSubmitter

UNIT = 512
FILE = segment_name(1)


class Log:
    """A log on a simulated disk that a ledger watches."""

    def __init__(self, count: int = 4) -> None:
        self.disk = Disk()
        self.written = Written()
        self.known = []
        device = SimDevice(self.disk, watcher=self.written)
        self.log = self.open_on(device, []).log
        for _ in range(count):
            batch = next_batch(self.log.head_op + 1, self.log.head_hash)
            self.known.append(batch)
            self.log.submit(batch, self.log.durable_op, lambda error: None)

    def open_on(self, device, found):
        return FileLog.open(
            device,
            submitter=InlineSubmitter(device),
            on_batch=found.append,
            now_us=1,
            format_new=NEW,
            sizes=SMALL,
        )

    def frame(self, op: int):
        return next(frame for frame in self.written.frames if frame.batch_op == op)

    def unit(self, op: int, unit: int = 0) -> int:
        return self.frame(op).offset // UNIT + unit

    def forecast(self) -> Forecast:
        return forecast(self.disk, self.written)

    def reopen(self) -> list[str]:
        """Open it and return what the checkers say."""
        expected, found = self.forecast(), []
        try:
            recovered = self.open_on(SimDevice(self.disk), found)
        except (DirectoryRefused, AcknowledgedDataLost) as error:
            return check_refused(expected, error)
        return check_opened(expected, recovered, found, self.known, self.written.seq_max)


def test_a_sound_log_must_open_whole_and_without_a_doubt():
    log = Log()
    expected = log.forecast()
    assert (expected.must_refuse, expected.may_refuse) == ("", "")
    assert (expected.op_min, expected.must_be_certain) == (4, True)
    assert log.reopen() == []


def test_damage_before_a_witness_must_be_refused():
    log = Log()
    log.disk.garble(FILE, log.unit(2), Random(0))
    assert "op 2 is damaged" in log.forecast().must_refuse
    assert log.reopen() == []


def test_damage_of_the_last_batch_may_end_the_log_if_it_is_said():
    log = Log()
    log.disk.garble(FILE, log.unit(4), Random(0))
    expected = log.forecast()
    assert not expected.must_refuse
    assert (expected.op_min, expected.dropped_to, expected.may_drop_silently) == (3, 4, False)
    assert log.reopen() == []


def test_a_lost_write_of_the_last_batch_cannot_be_told_from_one_that_never_was():
    log = Log()
    for unit in range(8):
        older = log.frame(4).before[unit * UNIT : (unit + 1) * UNIT]
        log.disk.lose(FILE, log.unit(4, unit), older)
    assert log.forecast().may_drop_silently
    assert log.reopen() == []


def test_rot_where_nothing_lies_does_not_matter():
    log = Log()
    log.disk.flip_bit(FILE, log.unit(2, 7) * UNIT + 3, 0)
    assert log.forecast().op_min == 4
    assert log.reopen() == []


def test_an_unreadable_unit_behind_the_end_may_be_refused():
    log = Log()
    log.disk.make_unreadable(FILE, log.unit(4, 9))
    assert "cannot be read" in log.forecast().may_refuse
    assert log.reopen() == []


@pytest.mark.parametrize(("copies", "refused"), [(1, False), (2, False), (3, True), (4, True)])
def test_two_sound_copies_make_a_superblock(copies, refused):
    log = Log()
    for copy in range(copies):
        log.disk.garble(sb.FILE, sb.copy_offset(copy) // UNIT, Random(copy))
    assert bool(log.forecast().must_refuse) == refused
    assert log.reopen() == []


def test_a_superblock_that_went_back_in_time_must_be_refused():
    log = Log()
    before = log.disk.names[sb.FILE].clone()
    device = SimDevice(log.disk, watcher=log.written)
    again = log.open_on(device, [])
    batch = next_batch(again.log.head_op + 1, again.log.head_hash)
    again.log.submit(batch, 4, lambda error: None)
    log.disk.names[sb.FILE] = before
    assert "older than the log" in log.forecast().must_refuse
    assert log.reopen() == []


def test_both_headers_lost_or_a_file_gone_or_cut_short_must_be_refused():
    for hurt in ("headers", "gone", "short"):
        log = Log()
        if hurt == "headers":
            log.disk.garble(FILE, 0, Random(0))
            assert not log.forecast().must_refuse
            log.disk.garble(FILE, 8, Random(0))
        elif hurt == "gone":
            del log.disk.names[FILE]
        else:
            log.disk.cut_short(FILE, log.frame(3).offset)
        assert "segment 1" in log.forecast().must_refuse
        assert log.reopen() == []


def test_the_checkers_complain_when_the_forecast_and_the_opening_differ():
    log = Log()
    found = []
    recovered = log.open_on(SimDevice(log.disk.clone()), found)
    sound, seq_max = log.forecast(), log.written.seq_max

    def say(expected=sound, batches=found, known=log.known, seq=seq_max):
        return " ".join(check_opened(expected, recovered, batches, known, seq))

    assert say() == ""
    assert "opened, though" in say(Forecast(must_refuse="x", stored=sound.stored))
    assert "ends at op 4" in say(Forecast(op_min=5, stored=sound.stored))
    assert "never acknowledged" in say(Forecast(op_min=4, dropped_to=5, stored=sound.stored))
    assert "never written so" in say(known=[*log.known[1:], log.known[0]])
    assert "comes next" in say(batches=found[::-1])
    assert "handed out batches up to 3" in say(batches=found[:3])
    assert "starts at" in say(seq=1 << 30)
    assert "without cause" in check_refused(sound, DirectoryRefused("x"))[0]
