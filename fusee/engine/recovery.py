"""The run table from a log: a fold of committed batches, in order.

Looks at ids and marks only; what a run's records hold is read when the run is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.engine.table import DamagedTable, RunTable
from fusee.log.batch import sections
from fusee.record.group import CLOSES, STARTS, decode_records, decode_section
from fusee.record.kinds import Closed, Status

if TYPE_CHECKING:
    from fusee.log.batch import Batch
    from fusee.record.group import Group


class Recovery:
    """Builds the table batch by batch."""

    __slots__ = ("op", "table")

    def __init__(self, shard_count: int) -> None:
        self.table = RunTable(shard_count)
        self.op = 0

    def apply(self, batch: Batch) -> None:
        """Apply the next committed batch. A batch that does not fit stops the open (E-4)."""
        assert batch.op > self.op, "batches come in order"
        self.op = batch.op
        for _, section in sections(batch):
            self.apply_section(section)

    def apply_section(self, section: bytes | memoryview) -> None:
        """Apply the groups of one section, in order."""
        open_run = self.table.open_run
        for group in decode_section(section):
            # Nearly all groups neither begin nor end their run: the cost of opening is here.
            if group.marks:
                self._marked(group)
            else:
                run = open_run(group.workflow_id, group.ordinal)
                run.groups.append(bytes(group.records))

    def _marked(self, group: Group) -> None:
        records = bytes(group.records)
        if group.marks & STARTS:
            run = self.table.add(group.workflow_id, None)
            if run.ordinal != group.ordinal:
                raise DamagedTable(f"run {run.key} starts as ordinal {group.ordinal}")
        else:
            run = self.table.open_run(group.workflow_id, group.ordinal)
        run.groups.append(records)
        if group.marks & CLOSES:
            closed = decode_records(records)[-1]
            assert isinstance(closed, Closed), "a closing group ends with its end"
            self.table.close(run, Status(closed.status))
            self.table.compact(run)

    def finish(self) -> RunTable:
        """Return the table once the log has been read to its end."""
        return self.table
