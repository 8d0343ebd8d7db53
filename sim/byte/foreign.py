"""A segment of another directory: sound frames, valid hashes, and none of our business."""

from __future__ import annotations

from functools import cache

from fusee.base.ids import OpNumber
from fusee.io.file_log import FileLog
from fusee.io.log_files import NewGroup
from fusee.log.batch import build_batch
from fusee.log.segment import SegmentSizes, segment_name
from fusee.testing.device import SimDevice
from fusee.testing.disk import Disk
from sim.byte.submitter import HeldSubmitter

OUR_GROUP = bytes(range(16))
OUR_INCARNATION = bytes(range(16, 32))
SIZES = SegmentSizes(32 * 1024, 32 * 1024)


@cache
def foreign_segment(is_of_our_group: bool) -> bytes:
    """Return a segment file of another group, or of an earlier replica of ours."""
    group_id = OUR_GROUP if is_of_our_group else b"another group..."
    disk = Disk()
    device = SimDevice(disk)
    submitter = HeldSubmitter(device)
    log = FileLog.open(
        device,
        submitter=submitter,
        on_batch=lambda batch: None,
        now_us=1,
        format_new=NewGroup(group_id=group_id, incarnation=b"another replica."),
        sizes=SIZES,
    ).log
    for op in range(1, 6):
        batch = build_batch(
            group_id=group_id,
            epoch=0,
            view=0,
            op=OpNumber(log.head_op + 1),
            prev=log.head_hash,
            commit_op=0,
            ts_us=op,
            sections=[(0, b"foreign" * 20)],
        )
        log.submit(batch, log.durable_op, lambda error: None)
        submitter.complete()
    return bytes(disk.names[segment_name(1)].image)
