"""Every open run has something that can wake it: no wake-up is ever lost.

Asked while the process is idle. Then everything that could go on by itself has done so, and
each run waits for a function that runs, for a timer that is armed, for a signal it is listed
for, or for a person (held). A run that waits for nothing waits for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.engine.run import Run
from fusee.record.kinds import OpKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fusee.engine.core import Core
    from fusee.engine.program import PendingOp


def forgotten(core: Core) -> Iterator[str]:
    """Yield a sentence for each run, or operation of one, that nothing can wake."""
    if core.draining:
        return
    for run in core.table.open_runs():
        if run.held is not None:
            continue
        program = run.program
        if program is None:
            yield f"run {run.key} is open, not held and not in memory, and nobody will load it"
            continue
        if run.inbox:
            yield f"run {run.key} has outcomes that nobody hands over"
        for op in program.pending.values():
            if not _can_wake(run, op):
                yield f"{run.key}/{op.position} ({op.kind.name.lower()} {op.name!r}) is forgotten"


def _can_wake(run: Run, op: PendingOp) -> bool:
    if op.kind is OpKind.STEP:
        return op.position in run.in_flight or op.position in run.timers
    if op.kind is OpKind.WAIT:
        assert run.signals is not None
        if run.signals.unread.get(op.name):
            return False  # It is there, and nobody hands it over.
        if op not in run.signals.waiting.get(op.name, ()):
            return False  # A signal would not find it, though its timeout might.
        return not op.due_us or op.position in run.timers
    return bool(op.due_us) and op.position in run.timers
