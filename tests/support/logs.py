"""Logs in states that are rare on a healthy disk, built in one line."""

from __future__ import annotations

from fusee.io.file_log import FileLog
from fusee.io.log_files import NewGroup
from fusee.io.recovered import Recovered
from fusee.log.batch import Batch, build_batch
from fusee.log.segment import SegmentSizes
from tests.support.ram_device import RamDevice
from tests.support.submitters import InlineSubmitter

GROUP = bytes(range(16))
INCARNATION = bytes(range(16, 32))
SMALL = SegmentSizes(first_bytes=32 * 1024, next_bytes=64 * 1024)
NEW = NewGroup(group_id=GROUP, incarnation=INCARNATION)


def next_batch(op: int, prev: bytes, size: int = 100, ts_us: int = 0) -> Batch:
    content = op.to_bytes(4, "little") + bytes(i * op & 0xFF for i in range(size))
    return build_batch(
        group_id=GROUP,
        epoch=1,
        view=0,
        op=op,
        prev=prev,
        commit_op=op - 1,
        ts_us=ts_us or op * 1000,
        sections=[(op % 64, content)],
        group_count=1,
    )


class Opened:
    """A log opened on a RAM device, what it held, and short ways to write to it."""

    def __init__(self, device: RamDevice, recovered: Recovered, batches: list[Batch]) -> None:
        self.device = device
        self.recovered = recovered
        self.log: FileLog = recovered.log
        self.end = recovered.end
        self.batches = batches

    def append(self, size: int = 100) -> Batch:
        batch = next_batch(self.log.head_op + 1, self.log.head_hash, size)
        errors: list[BaseException | None] = []
        self.log.submit(batch, self.log.durable_op, errors.append)
        if errors and errors[0] is not None:
            raise errors[0]
        self.batches.append(batch)
        return batch

    def seal(self) -> None:
        self.log.submit_seal(self.log.durable_op, lambda error: None)


def open_log(
    device: RamDevice, *, new: bool = True, sizes: SegmentSizes = SMALL, is_alone: bool = True
) -> Opened:
    batches: list[Batch] = []
    recovered = FileLog.open(
        device,
        submitter=InlineSubmitter(device),
        on_batch=batches.append,
        now_us=1_000,
        format_new=NEW if new else None,
        sizes=sizes,
        is_alone=is_alone,
    )
    return Opened(device, recovered, batches)


def filled(count: int = 20, size: int = 3_000) -> Opened:
    opened = open_log(RamDevice())
    for _ in range(count):
        opened.append(size)
    return opened
