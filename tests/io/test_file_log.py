"""The log of a directory: format, open, submit, fail, trim."""

from __future__ import annotations

import errno
from contextlib import suppress
from random import Random

import msgspec
import pytest

from fusee.base.checksum import hash128
from fusee.base.errors import (
    AcknowledgedDataLost,
    DirectoryRefused,
    EngineStopped,
    StorageFull,
)
from fusee.base.limits import STORAGE_RESERVE_BYTES
from fusee.io.file_log import FileLog
from fusee.log.segment import segment_name, spare_name
from fusee.log.superblock import COPY_DISTANCE, Checkpoint, SuperblockRefused
from tests.support.logs import NEW, SMALL, filled, next_batch, open_log
from tests.support.ram_device import PowerLost, RamDevice
from tests.support.submitters import HeldSubmitter

# ---------------------------------------------------------------- formatting and opening


def test_a_new_directory_is_formatted_and_opens_empty():
    opened = open_log(RamDevice())
    assert opened.recovered.is_new
    assert opened.recovered.reports == ()
    assert opened.device.files() == [segment_name(1), "superblock"]
    assert (opened.log.head_op, opened.log.durable_op) == (0, 0)


def test_nothing_is_formatted_unless_asked():
    with pytest.raises(DirectoryRefused, match="not a Fusee directory"):
        open_log(RamDevice(), new=False)


@pytest.mark.parametrize("calls", range(8))
def test_a_format_cut_off_anywhere_is_finished_by_the_next_open(calls):
    for seed in range(8):
        device = RamDevice()
        device.lose_power_after(calls, Random(seed))
        with suppress(PowerLost):
            open_log(device)
        device.power_on()
        opened = open_log(device)
        opened.append()
        assert len(open_log(device).batches) == 1


def test_log_files_without_a_superblock_are_never_formatted_over():
    opened = filled(2)
    del opened.device.content["superblock"]
    with pytest.raises(DirectoryRefused, match="no superblock"):
        open_log(opened.device)


def test_batches_come_back_in_order_and_writing_goes_on():
    opened = filled(20)
    again = open_log(opened.device)
    assert again.batches == opened.batches
    assert not again.recovered.is_new
    again.append()
    assert len(open_log(opened.device).batches) == 21


def test_every_open_counts_as_a_boot():
    device = RamDevice()
    assert [open_log(device).log.superblock.boot_count for _ in range(3)] == [1, 2, 3]


def test_bad_superblock_copies_are_rewritten_and_reported():
    opened = filled(1)
    opened.device.garble("superblock", 0)
    opened.device.unreadable.add(("superblock", 2 * COPY_DISTANCE))
    again = open_log(opened.device)
    assert again.recovered.repaired_copies == (0, 2)
    assert "superblock" in again.recovered.reports[0]


def test_a_lost_superblock_quorum_is_refused():
    opened = filled(1)
    for copy in range(3):
        opened.device.garble("superblock", copy * COPY_DISTANCE)
    with pytest.raises(SuperblockRefused, match="fewer than 2 of 4"):
        open_log(opened.device)


def test_group_time_never_steps_back_over_an_open():
    opened = open_log(RamDevice())
    batch = next_batch(1, bytes(16), ts_us=77_000_000)
    opened.log.submit(batch, 0, lambda error: None)
    assert open_log(opened.device).recovered.ts_us == 77_000_000


def test_the_bytes_on_disk_are_pinned():
    opened = open_log(RamDevice())
    for size in (0, 100, 9_000, 20_000):
        opened.append(size)
    opened.seal()
    digests = {name: hash128(data).hex() for name, data in opened.device.content.items()}
    assert digests == {
        "superblock": "ccb436c14b2bd8cf1d8cfeca8975e4d3",
        segment_name(1): "475f37072243d13a68d336142b0be7fd",
        segment_name(2): "23d68a75aa41a1b77ace0e70c568489f",
    }, "every directory in the world is written so; add a format instead"


# ---------------------------------------------------------------- submitting


def test_nothing_is_durable_until_the_write_is_done():
    device = RamDevice()
    open_log(device)
    submitter = HeldSubmitter(device)
    log = FileLog.open(
        device, submitter=submitter, on_batch=lambda batch: None, now_us=1, sizes=SMALL
    ).log
    done: list[BaseException | None] = []
    log.submit(next_batch(1, log.head_hash), 0, done.append)
    assert (log.busy, log.head_op, log.durable_op, done) == (True, 1, 0, [])
    submitter.release()
    assert (log.busy, log.head_op, log.durable_op, done) == (False, 1, 1, [None])


def test_a_second_write_in_flight_is_our_bug():
    device = RamDevice()
    open_log(device)
    log = FileLog.open(
        device, submitter=HeldSubmitter(device), on_batch=lambda batch: None, now_us=1, sizes=SMALL
    ).log
    log.submit(next_batch(1, log.head_hash), 0, lambda error: None)
    with pytest.raises(AssertionError):
        log.submit(next_batch(2, log.head_hash), 0, lambda error: None)


def test_a_batch_that_does_not_continue_the_head_is_our_bug():
    log = filled(1).log
    for batch in (next_batch(3, log.head_hash), next_batch(2, b"?" * 16)):
        with pytest.raises(AssertionError):
            log.submit(batch, log.durable_op, lambda error: None)


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_S_8_a_failed_write_stops_the_log_for_ever(code):
    opened = filled(2)
    cause = OSError(code, "disk")
    opened.device.fail_after(0, cause)
    done: list[BaseException | None] = []
    opened.log.submit(next_batch(3, opened.log.head_hash), 2, done.append)
    assert done == [cause]
    assert opened.log.durable_op == 2
    opened.device.power_on()
    for call in (
        lambda: opened.log.submit_seal(2, done.append),
        lambda: opened.log.submit(next_batch(4, opened.log.head_hash), 2, done.append),
        lambda: opened.log.save_superblock(opened.log.superblock),
        opened.log.prepare_ahead,
        lambda: opened.log.trim(1),
    ):
        with pytest.raises(EngineStopped) as caught:
            call()
        assert caught.value.cause is cause


@pytest.mark.parametrize("landed_bytes", [0, 512, 4096, 8192])
def test_what_a_short_write_left_is_torn_for_the_next_process(landed_bytes):
    opened = filled(2)
    opened.device.fail_after(0, OSError(errno.ENOSPC, "disk"), landed_bytes)
    with pytest.raises(OSError, match="disk"):
        opened.append(9_000)
    opened.device.power_on()
    again = open_log(opened.device)
    assert again.end.is_certain
    assert again.end.op == 2


def test_a_failed_superblock_write_stops_the_log():
    opened = filled(1)
    opened.device.fail_after(1, OSError(errno.EIO, "disk"))
    with pytest.raises(OSError, match="disk"):
        opened.log.save_superblock(opened.log.superblock)
    assert opened.log.failed is not None


def test_a_superblock_that_reads_back_otherwise_is_not_acted_on():
    opened = filled(1)
    for copy in (1, 3):
        opened.device.unreadable.add(("superblock", copy * COPY_DISTANCE))
    later = msgspec.structs.replace(opened.log.superblock, view=9)
    with pytest.raises(OSError, match="only 2 of 4"):
        opened.log.save_superblock(later)
    assert opened.log.superblock.view == 0


def test_a_promise_never_goes_back():
    log = filled(1).log
    log.save_superblock(msgspec.structs.replace(log.superblock, view=3))
    with pytest.raises(AssertionError):
        log.save_superblock(msgspec.structs.replace(log.superblock, view=2))


# ---------------------------------------------------------------- segments


def test_the_next_segment_is_made_ahead_and_costs_the_writer_nothing():
    opened = open_log(RamDevice())
    for _ in range(30):
        opened.append(3_000)
        before = set(opened.device.files())
        opened.log.prepare_ahead()
        made = set(opened.device.files()) - before
        opened.append(3_000)
        assert set(opened.device.files()) - before == made, "no file is made on the way"


def _full_while_the_next_segment_is_made():
    opened = open_log(RamDevice())
    plan = opened.log.plan_ahead(is_needed=True)
    assert plan is not None
    while opened.log._writer.has_room(4096):
        opened.append(3_000)
    assert not opened.log.busy
    return opened, plan


def test_a_batch_waits_for_the_segment_that_is_being_made_elsewhere():
    opened, plan = _full_while_the_next_segment_is_made()
    head = opened.log.durable_op
    opened.append(3_000)
    assert opened.log.busy, "nothing else is written before it"
    assert opened.log.durable_op == head
    opened.log.carry_out(plan)
    opened.log.adopt(plan)
    assert not opened.log.busy
    assert opened.log.durable_op == head + 1
    for _ in range(11):
        opened.append(3_000)
    assert open_log(opened.device).batches == opened.batches


@pytest.mark.parametrize("error", [StorageFull("no space"), OSError(5, "injected")])
def test_a_batch_that_waits_for_a_segment_that_cannot_be_made_fails(error):
    opened, plan = _full_while_the_next_segment_is_made()
    head = opened.log.durable_op
    told = []
    batch = next_batch(head + 1, opened.log.head_hash)
    opened.log.submit(batch, head, told.append)
    opened.log.adopt(plan, error)
    assert told == [error]
    assert opened.log.failed is error
    assert open_log(opened.device).end.op == head


def test_a_full_disk_refuses_the_batch_and_keeps_the_log():
    opened = open_log(RamDevice())
    opened.device.free = 0
    while opened.log._writer.has_room(4096):
        opened.append(3_000)
    with pytest.raises(StorageFull):
        opened.append(3_000)
    assert opened.log.failed is None
    head = opened.log.head_op
    opened.device.free = 1 << 40
    opened.append(3_000)
    assert open_log(opened.device).end.op == head + 1


def test_storage_is_low_below_the_reserve():
    opened = open_log(RamDevice())
    opened.device.free = STORAGE_RESERVE_BYTES
    assert not opened.log.is_storage_low
    opened.device.free = STORAGE_RESERVE_BYTES - 1
    assert opened.log.is_storage_low


def test_trimmed_segments_become_spares_and_then_segments_again():
    opened = filled(40)
    device = opened.device
    count = len(device.files())
    checkpoint = Checkpoint(opened.log.head_op, opened.log.head_hash)
    assert opened.log.trim(opened.log.head_op, checkpoint) > 0
    assert spare_name(2) in device.files()
    assert len(device.files()) == count, "recycled, not deleted"
    for _ in range(20):
        opened.append(3_000)
    assert len(device.files()) == count
    again = open_log(device)
    assert again.batches == opened.batches[again.batches[0].op - 1 :]


def test_the_base_never_passes_the_checkpoint():
    opened = filled(40)
    with pytest.raises(AssertionError):
        opened.log.trim(opened.log.head_op)


def test_a_trim_that_lets_nothing_go_writes_nothing():
    opened = filled(2)
    before = opened.device.call_count
    assert opened.log.trim(2) == 0
    assert opened.device.call_count == before


# ---------------------------------------------------------------- borders


def test_the_largest_groups_are_written_and_read_back():
    big = msgspec.structs.replace(SMALL, next_bytes=16 * 1024 * 1024)
    opened = open_log(RamDevice(), sizes=big)
    opened.append(1_000_000)
    opened.append(6 * 1024 * 1024)
    assert open_log(opened.device, sizes=big).batches == opened.batches


def test_NEW_formats_with_the_identity_it_names():
    superblock = open_log(RamDevice()).log.superblock
    assert (superblock.group_id, superblock.incarnation) == (NEW.group_id, NEW.incarnation)


def test_segments_deleted_from_the_end_are_missed():
    opened = filled(count=200)
    numbers = sorted(name for name in opened.device.files() if name.startswith("segment-"))
    assert len(numbers) > 3
    for kept in range(1, len(numbers)):
        device = opened.device.copy()
        for name in numbers[kept:]:
            del device.content[name]
        with pytest.raises(AcknowledgedDataLost, match="the file is missing") as lost:
            open_log(device, new=False)
        assert lost.value.positions[0].startswith(numbers[kept])


def test_a_crash_while_a_segment_is_made_or_noted_loses_nothing():
    opened = filled(count=30)
    plan = opened.log.plan_ahead(is_needed=True)
    assert plan is not None
    opened.log.carry_out(plan)
    assert open_log(opened.device.copy(), new=False).batches == opened.batches
    opened.log.adopt(plan)
    assert opened.log.superblock.segment_max == plan.header.number
    assert open_log(opened.device.copy(), new=False).batches == opened.batches
