"""The superblock of the next boot: what an open promises before its first frame (R-4, S-11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fusee.log.superblock import Unknown

if TYPE_CHECKING:
    from fusee.log.ending import LogEnd
    from fusee.log.superblock import Superblock

SEQ_GAP = 1024
"""Every boot starts this far above any local_seq an earlier one can have used."""


def next_boot(superblock: Superblock, end: LogEnd, newest_segment: int) -> Superblock:
    """Return the superblock of this boot, written before its first frame (R-4, S-11).

    A crash may have come between making a segment and noting it. It is noted now, for this
    boot may write there and a file that vanishes must be missed.
    """
    unknown = superblock.unknown
    if unknown is not None and end.op >= unknown.op:
        unknown = None
    if not end.is_certain:
        unknown = Unknown(end.op + 1, superblock.log_view)
    segment_max = superblock.segment_max
    if newest_segment > superblock.base.segment:
        segment_max = max(segment_max, newest_segment)
    return msgspec.structs.replace(
        superblock,
        boot_count=superblock.boot_count + 1,
        seq_floor=max(superblock.seq_floor, end.local_seq, end.seq_max) + SEQ_GAP,
        unknown=unknown,
        ts_us=max(superblock.ts_us, end.ts_us),
        segment_max=segment_max,
    )
