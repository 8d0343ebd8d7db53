"""What a run has not read in memory is what it has not read by its records.

A signal that memory takes for read is lost to the run, and no record says so: the log is in
order, and a wait goes on for ever or ends by its timeout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.engine.run import records_of
from fusee.record.kinds import Completed, Outcome, SignalReceived
from fusee.testing.checkers.compared import Compared

if TYPE_CHECKING:
    from fusee.engine.core import Core


def misread_signals(core: Core) -> Compared:
    """Compare the unread signals of each open run, if it ever had any, with its records."""
    compared = Compared()
    for run in core.table.open_runs():
        program = run.program
        if program is None or run.signals is None or program.machine.history is not None:
            continue
        received: set[int] = set()
        consumed: set[int] = set()
        for records in records_of(run):
            for record in records:
                if isinstance(record, SignalReceived):
                    received.add(record.number)
                elif isinstance(record, Completed) and record.outcome == Outcome.SIGNAL:
                    consumed.add(record.number)
        unread = {signal.number for queue in run.signals.unread.values() for signal in queue}
        compared.count += bool(received)
        if unread != received - consumed:
            compared.wrong.append(
                f"run {run.key} has the unread signals {sorted(unread)} in memory, and"
                f" {sorted(received - consumed)} by its records"
            )
    return compared
