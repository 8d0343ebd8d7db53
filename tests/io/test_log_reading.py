"""Reading back an open log: everything durable, along the chain, and loss only where it is sure."""

from __future__ import annotations

import errno
from collections.abc import Callable
from itertools import count
from random import Random
from typing import Any, cast

import pytest

from fusee.base.errors import AcknowledgedDataLost
from fusee.io.file_log import LogTrimmed
from fusee.log.superblock import Checkpoint
from tests.support.logs import Opened, filled, open_log
from tests.support.ram_device import RamDevice


@pytest.mark.parametrize("reopened", [False, True])
def test_durable_batches_are_read_from_any_op(reopened):
    opened = open_log(RamDevice())
    for size in (100, 3_000, 9_000) * 20:
        opened.append(size)
    log = open_log(opened.device).log if reopened else opened.log
    for op in (1, 2, 17, 59, 60):
        assert log.read(op, 1 << 30) == opened.batches[op - 1 :]
    assert log.read(61, 1 << 30) == []


def test_a_read_is_bounded_but_never_empty_handed():
    opened = filled(10, size=9_000)
    assert [batch.op for batch in opened.log.read(3, 1)] == [3]
    assert [batch.op for batch in opened.log.read(3, 20_000)] == [3, 4]


def test_a_read_below_the_base_says_so():
    opened = filled(40)
    opened.log.trim(30, Checkpoint(opened.log.head_op, opened.log.head_hash))
    with pytest.raises(LogTrimmed):
        opened.log.read(1, 100)
    assert opened.log.read(30, 1)[0].op == 30


def test_reads_follow_the_chain_past_what_a_dead_boot_left():
    opened = filled(3, size=900)
    file, offset, _ = opened.device.writes[-1]
    opened.device.garble(file, offset + 512)
    second = open_log(opened.device)
    second.append(20_000)
    second.append(100)
    assert second.log.read(1, 1 << 30) == second.batches


class Flaky:
    """Stands between a log and its disk, and spoils the next reads of one block."""

    def __init__(self, opened: Opened, op: int) -> None:
        self.times = 0
        self.how: Callable[[bytes], bytes] = refuses
        self.buffer = opened.device.buffer
        self._read = opened.device.read
        self._place = opened.device.writes[-len(opened.batches) :][op - 1][:2]
        opened.log._device = cast(Any, self)

    def read(self, file: str, offset: int, size: int) -> bytes:
        data = self._read(file, offset, size)
        start = self._place[1] - offset
        if file != self._place[0] or not 0 <= start < len(data) or not self.times:
            return data
        self.times -= 1
        return data[:start] + self.how(data[start : start + 4096]) + data[start + 4096 :]


def refuses(block: bytes) -> bytes:
    raise OSError(errno.EIO, "Input/output error")


def zeros(block: bytes) -> bytes:
    return bytes(len(block))


NUMBERS = count(1)


def noise(block: bytes) -> bytes:
    return Random(next(NUMBERS)).randbytes(len(block))


# A large read that fails is asked again block by block, which is the second read.
@pytest.mark.parametrize(("how", "times"), [(refuses, 1), (refuses, 2), (zeros, 1), (noise, 1)])
def test_a_batch_that_can_be_read_the_second_time_is_read(how, times):
    opened = filled(5, size=900)
    disk = Flaky(opened, 3)
    disk.how, disk.times = how, times

    assert opened.log.read(1, 1 << 30) == opened.batches
    assert disk.times == 0


def test_a_batch_that_cannot_be_read_is_an_error_of_the_disk_and_no_loss():
    opened = filled(5, size=900)
    disk = Flaky(opened, 3)
    disk.times = 100

    with pytest.raises(OSError, match=r"op 3: .* cannot be read now: .*proves no loss") as failed:
        opened.log.read(1, 1 << 30)
    assert failed.value.errno == errno.EIO
    disk.times = 0
    assert opened.log.read(1, 1 << 30) == opened.batches
    assert opened.append() in opened.log.read(1, 1 << 30)


def test_a_batch_that_reads_otherwise_each_time_is_an_error_of_the_disk_and_no_loss():
    opened = filled(5, size=900)
    disk = Flaky(opened, 3)
    disk.how, disk.times = noise, 100

    with pytest.raises(OSError, match=r"op 3: the disk returned other bytes.*proves no loss"):
        opened.log.read(1, 1 << 30)


@pytest.mark.parametrize("batch", [3, 5])
def test_a_batch_that_reads_damaged_again_is_lost(batch):
    opened = filled(5, size=900)
    file, offset, _ = opened.device.writes[-6 + batch]
    opened.device.flip(file, offset + 700)

    with pytest.raises(AcknowledgedDataLost, match=f"op {batch}: a durable batch") as lost:
        opened.log.read(1, 1 << 30)
    assert lost.value.positions == (f"{file}, byte {offset}, op {batch}",)


def test_a_segment_that_is_gone_is_lost():
    opened = filled(5, size=900)
    del opened.device.content[opened.log.file]

    with pytest.raises(AcknowledgedDataLost, match="op 1"):
        opened.log.read(1, 1 << 30)
