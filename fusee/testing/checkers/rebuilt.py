"""The engine in memory equals the engine rebuilt from the durable log.

Asked while nothing is uncommitted: then every record that memory rests on is on the disk, in
the same order, and a process that opened the disk now would know of the same runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.base.limits import SHARD_COUNT
from fusee.engine.recovery import Recovery
from fusee.engine.run import Finished, Run, records_of
from fusee.io.log_files import load_superblock
from fusee.log.scan import LogScan
from fusee.testing.checkers.compared import Compared

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fusee.engine.table import RunTable
    from fusee.log.device import Device


def differences(table: RunTable, device: Device) -> Compared:
    """Compare each run of a live table with what the log of a device makes of it."""
    loaded = load_superblock(device)
    assert loaded is not None, "an open engine has a superblock"
    recovery = Recovery(SHARD_COUNT)
    for batch in LogScan(device.read, device.files(), loaded[0].superblock).batches():
        recovery.apply(batch)
    rebuilt = {_key(run): run for run in recovery.finish().all()}
    live = {_key(run): run for run in table.all()}
    compared = Compared(len(live.keys() & rebuilt.keys()))
    for key in sorted(set(live) | set(rebuilt)):
        compared.wrong.extend(_difference(key, live.get(key), rebuilt.get(key)))
    return compared


def _difference(
    key: str, one: Run | Finished | None, other: Run | Finished | None
) -> Iterator[str]:
    if one is None:
        yield f"run {key} is in the log and not in memory"
    elif other is None:
        yield f"run {key} is in memory and not in the log"
    elif records_of(one) != records_of(other):
        yield f"run {key} has other records in memory than in the log"
    elif _status(one) != _status(other):
        yield f"run {key} is {_status(one)} in memory and {_status(other)} in the log"


def _key(run: Run | Finished) -> str:
    return f"{run.workflow_id}/{run.ordinal}"


def _status(run: Run | Finished) -> object:
    return run.closed_status
