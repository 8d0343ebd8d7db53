"""A log on a disk that is damaged to measure, and what its next opening must say."""

from __future__ import annotations

import pytest

from fusee.base.errors import AcknowledgedDataLost
from fusee.base.limits import UNIT_SIZE
from fusee.log.ending import EndClass
from fusee.log.frame import FrameKind, encode_frame_into, frame_bytes
from tests.support.logs import Opened, next_batch, open_log
from tests.support.ram_device import RamDevice

TAG_PLACE = UNIT_SIZE - 8


class Written:
    """A log of some batches, the last frame's place, and the disk as it was before it."""

    def __init__(self, count: int = 3, size: int = 900) -> None:
        self.device = RamDevice()
        self.opened = open_log(self.device)
        for _ in range(count - 1):
            self.opened.append(100)
        self.before = self.device.copy()
        self.opened.append(size)
        self.file, self.offset, self.size = self.device.writes[-1]

    def lose_unit(self, *units: int) -> None:
        """Let units of the last frame never have been written."""
        for unit in units:
            start = self.offset + unit * UNIT_SIZE
            old = self.before.content[self.file][start : start + UNIT_SIZE]
            self.device.content[self.file][start : start + UNIT_SIZE] = old

    def garble_unit(self, *units: int) -> None:
        for unit in units:
            self.device.garble(self.file, self.offset + unit * UNIT_SIZE)

    def reopen(self, **options: bool) -> Opened:
        return open_log(self.device, new=False, **options)


def expect(opened: Opened, op: int, end_class: EndClass, case: int) -> None:
    assert [batch.op for batch in opened.batches] == list(range(1, op + 1))
    assert (opened.end.op, opened.end.end_class, opened.end.case) == (op, end_class, case)


def lost(log: Written) -> AcknowledgedDataLost:
    before = log.device.copy()
    with pytest.raises(AcknowledgedDataLost) as caught:
        log.reopen()
    assert log.device.content == before.content, "a refused directory is left as it was"
    return caught.value


def put_frame(
    log: Written,
    offset: int,
    op: int,
    prev: bytes,
    *,
    kind: int = FrameKind.BATCH,
    **changes: int,
) -> None:
    """Write a frame behind the log's back, as another boot or a second write in flight would."""
    writer = log.opened.log._writer
    batch = next_batch(op, prev, 900)
    body = batch.data if kind == FrameKind.BATCH else b""
    values = {
        "boot_count": writer.boot_count,
        "local_seq": writer.next_seq,
        "log_gen": 0,
        "accept_view": 0,
        "durable_op": op - 1,
    } | changes
    prev_local = writer.prev_local if "foreign_prev" not in values else b"?" * 16
    values.pop("foreign_prev", None)
    buffer = memoryview(bytearray(frame_bytes(len(body))))
    encode_frame_into(
        buffer,
        offset,
        writer.file_key,
        kind=kind,
        op=op,
        prev_local=prev_local,
        body_hash=batch.hash if kind == FrameKind.BATCH else bytes(16),
        body=body,
        **values,
    )
    log.device.content[writer.file][offset : offset + len(buffer)] = buffer


def second_in_flight(log: Written) -> None:
    """Put batch 4 behind batch 3 as if it had been submitted before 3 was durable."""
    put_frame(log, log.offset + log.size, 4, log.opened.log.head_hash, durable_op=2)
