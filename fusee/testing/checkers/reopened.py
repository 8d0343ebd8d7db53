"""What an opening said, held against the oracle and against what the outside world was told.

Returns sentences; none means that every promise was kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.log.superblock import Unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fusee.io.recovered import Recovered
    from fusee.log.batch import Batch
    from fusee.log.superblock import Superblock
    from fusee.testing.checkers.recoverable import Forecast


def check_refused(forecast: Forecast, error: Exception) -> list[str]:
    """Check an opening that refused."""
    if forecast.must_refuse or forecast.may_refuse:
        return []
    return [f"opening was refused without cause: {error}"]


def check_opened(
    forecast: Forecast,
    recovered: Recovered,
    found: Sequence[Batch],
    known: Sequence[Batch],
    seq_max: int,
) -> list[str]:
    """Check an opening that succeeded.

    `known` are all batches that were ever to be in this log, the first one of op 1; behind
    the acknowledged ones one that was in flight. `seq_max` is the highest local_seq written.
    """
    if forecast.must_refuse:
        return [f"opened, though {forecast.must_refuse}"]
    base_op = recovered.superblock.base.op
    return [
        *_check_batches(found, known, base_op),
        *_check_head(forecast, recovered, base_op + len(found)),
        *_check_superblock(forecast, recovered, seq_max),
    ]


def _check_batches(found: Sequence[Batch], known: Sequence[Batch], base_op: int) -> list[str]:
    """Nothing that was never written, nothing out of order, and every byte as it was."""
    for op, batch in enumerate(found, start=base_op + 1):
        if batch.op != op:
            return [f"batch {batch.op} was handed out where {op} comes next"]
        if op > len(known) or batch.data != known[op - 1].data:
            return [f"batch {op} was never written so"]
    return []


def _check_head(forecast: Forecast, recovered: Recovered, head: int) -> list[str]:
    """Nothing acknowledged is gone, unless its damage was said loudly and nothing proved it."""
    end = recovered.end
    if end.op != head:
        return [f"the log ends at op {end.op}, but handed out batches up to {head}"]
    if head < forecast.op_min:
        return [f"the log ends at op {head}, but all up to {forecast.op_min} is whole on the disk"]
    is_dropped = head < forecast.dropped_to
    if is_dropped and end.is_certain and not forecast.may_drop_silently:
        return [
            f"op {head + 1} was acknowledged and is damaged, and the log calls it never"
            f" acknowledged: case {end.case}, {end.reason}"
        ]
    if not end.is_certain and not recovered.reports:
        return [f"the end at op {head} is in doubt, and no report says so"]
    if forecast.must_be_certain and not end.is_certain:
        return [
            f"nothing is damaged, and the end at op {head} is in doubt: case {end.case},"
            f" {end.reason}"
        ]
    return []


def _check_superblock(forecast: Forecast, recovered: Recovered, seq_max: int) -> list[str]:
    """The promises are those stored, and the new boot is above everything before it."""
    booted, end = recovered.superblock, recovered.end
    stored = forecast.stored
    assert stored is not None
    before = stored.superblock
    wrong: list[str] = []
    if promises(booted) != promises(before):
        wrong.append(f"the superblock promises {promises(booted)}, stored was {promises(before)}")
    if booted.segment_max < before.segment_max:
        wrong.append("a segment that was made is forgotten")
    if booted.boot_count != before.boot_count + 1:
        wrong.append(f"boot {booted.boot_count} follows boot {before.boot_count}")
    if booted.seq_floor <= max(seq_max, before.seq_floor):
        wrong.append(f"the boot starts at {booted.seq_floor}, but {seq_max} was written before")
    if booted.ts_us < max(before.ts_us, end.ts_us):
        wrong.append("group time went back")
    unknown = before.unknown if before.unknown and before.unknown.op > end.op else None
    if not end.is_certain:
        unknown = Unknown(end.op + 1, before.log_view)
    if booted.unknown != unknown:
        wrong.append(f"noted as uncertain is {booted.unknown}, but it is {unknown}")
    return wrong


def promises(superblock: Superblock) -> tuple[object, ...]:
    """Return what no opening may change."""
    return (
        superblock.group_id,
        superblock.incarnation,
        superblock.base,
        superblock.view,
        superblock.log_view,
        superblock.vouch,
        superblock.checkpoint,
        superblock.commit_hint,
    )
