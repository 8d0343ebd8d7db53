"""The run table from a log: a fold of committed batches, in order.

Looks at ids and marks only; what a run's records hold is read when the run is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.engine.table import RunTable
from fusee.log.batch import sections
from fusee.record.group import CLOSES, decode_records, decode_section
from fusee.record.kinds import Closed, Status

if TYPE_CHECKING:
    from fusee.log.batch import Batch


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
        recover = self.table.recover
        for _, section in sections(batch):
            for group in decode_section(section):
                if group.marks & CLOSES:
                    closed = decode_records(bytes(group.records))[-1]
                    assert isinstance(closed, Closed), "a closing group ends with its end"
                    recover(group, Status(closed.status))
                else:
                    recover(group, None)

    def finish(self) -> RunTable:
        """Return the table once the log has been read to its end."""
        return self.table
