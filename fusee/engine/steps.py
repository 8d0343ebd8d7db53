"""Operations: how they start, and how what they bring reaches their run.

Every effectful step passes the gate with the ticket of its own scheduled record, so no
function ever runs without a durable trace of its intent (rule ST-1). Read-only steps start
at once. What arrives is handed to the code in a turn; what arrives while the code is not
there (held, not loaded, draining) is recorded as completed and handed over later.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from fusee.base.errors import StepCancelled
from fusee.base.limits import WEIGHED_BYTES_MIN
from fusee.engine.program import Arrival
from fusee.record.failure import encode_failure
from fusee.record.kinds import AttemptFailed, Completed, OpKind, Outcome

if TYPE_CHECKING:
    from fusee.base.ids import Ticket
    from fusee.engine.core import Core
    from fusee.engine.program import PendingOp
    from fusee.engine.run import Run
    from fusee.record.kinds import AnyRecord


def arm(core: Core, run: Run, op: PendingOp, ticket: Ticket) -> None:
    """Set in motion an operation that the code has just called, or that replay left pending."""
    program = run.program
    if program is None or program.pending.get(op.position) is not op or op.cancel_requested:
        return
    if op.kind is OpKind.STEP:
        if run.in_flight or run.attempts or op.read_only:
            _arm_step(core, run, op, ticket)
        elif ticket > core.gate.committed:
            core.gate.when(ticket, core.start, (run, op))
        else:
            core.starting.append((run, op))
        return
    if op.due_us:
        core.arm_timer(run, op.position, op.due_us)
    if op.kind is OpKind.WAIT:
        assert run.signals is not None, "a loaded run has its signals"
        run.signals.waiting.setdefault(op.name, deque()).append(op)
        if run.signals.unread.get(op.name):
            run.inbox.append(op.name)
            core.queue(run)


def _arm_step(core: Core, run: Run, op: PendingOp, ticket: Ticket) -> None:
    if op.position in run.in_flight:
        return  # An attempt from before the run was unloaded still runs; its result serves.
    failed = run.attempts.get(op.position) if run.attempts else None
    if failed is not None:
        core.arm_timer(run, op.position, failed.due_us)
    elif op.read_only:
        core.starting.append((run, op))
    else:
        _pass_gate(core, ticket, run, op)


def _has_arrived(run: Run, position: int) -> bool:
    """Whether an outcome of the operation waits for its turn: then there will be no other."""
    return any(type(item) is Arrival and item.position == position for item in run.inbox)


def _pass_gate(core: Core, ticket: Ticket, run: Run, op: PendingOp) -> None:
    """Let a step start once its ticket commits; never within the turn that called it."""
    if ticket > core.gate.committed:
        core.gate.when(ticket, core.start, (run, op))
    else:
        core.starting.append((run, op))  # Replay left it pending; its record is long durable.


def start(core: Core, key: tuple[Run, PendingOp]) -> None:
    """Run a step function now: everything before it is committed, or it is read-only."""
    run, op = key
    program = run.program
    if (
        core.draining
        or program is None
        or op.cancel_requested
        or program.pending.get(op.position) is not op
        or op.position in run.in_flight
    ):
        return
    failed = run.attempts.get(op.position) if run.attempts else None
    if failed is None:
        core.steps.start(run, op, 1, 0)
    else:
        core.steps.start(run, op, failed.attempt + 1, failed.first_started_us)


def cancel(core: Core, run: Run, op: PendingOp) -> None:
    """The code no longer wants an operation. A step that runs is asked to stop."""
    core.disarm_timer(run, op.position)
    token = run.in_flight.get(op.position)
    if token is not None:
        core.steps.cancel(token)
        return
    program = run.program
    if program is None:
        return
    if program.pending.get(op.position) is not op:
        forget_arrived(core, run, op.position)
        return
    if _has_arrived(run, op.position):
        return
    # Behind its gate, or between two attempts: its function never runs again.
    run.inbox.append(_cancelled(op))
    core.queue(run)


def forget_arrived(core: Core, run: Run, position: int) -> None:
    """Drop what waits for its turn: the operation has another outcome, or is wanted no more.

    Else it would be recorded beside the one that counts if the run left memory (rule J-10).
    """
    for item in run.inbox:
        if type(item) is Arrival and item.position == position:
            if item.weight:
                lift(core, item)
            run.inbox.remove(item)
            return


def _cancelled(op: PendingOp) -> Arrival:
    error = StepCancelled(f"step '{op.name}' was cancelled before it ran to its end")
    return Arrival(op.position, Outcome.FAILURE, encode_failure(error))


def step_done(core: Core, run: Run, token: object, arrival: Arrival) -> None:
    """An attempt brought the step's outcome. A late result of a lost attempt is dropped."""
    if run.in_flight.get(arrival.position) is not token:
        return
    del run.in_flight[arrival.position]
    if run.closed_status is not None:
        return
    program = run.program
    if program is None or core.draining or program.machine.history is not None:
        _record_unseen(core, run, arrival)
    elif arrival.position in program.pending:
        if len(arrival.payload) >= WEIGHED_BYTES_MIN:
            arrival.weight = len(arrival.payload)
            core.log.weigh(arrival.weight)
        run.inbox.append(arrival)
        if not run.queued:
            core.queue(run)


def _record_unseen(core: Core, run: Run, arrival: Arrival) -> None:
    """Record an outcome that the code cannot see yet; the function never runs again for it."""
    now_us = core.log.now_us()
    record = Completed(
        arrival.position, arrival.outcome, now_us, arrival.payload, False, 0, arrival.attempt
    )
    core.append(run, [record])
    core.wake()
    if run.program is not None and not core.draining:
        arrival.recorded = True
        run.inbox.append(arrival)


def keep_arrived(core: Core, run: Run) -> None:
    """Record the outcomes that wait for a turn which will not come: the run is held, or parked.

    Without this a function would run again though the process did not fail.
    """
    now_us = core.log.now_us()
    arrived = [
        item for item in run.inbox if type(item) is Arrival and item.outcome is not Outcome.SIGNAL
    ]
    assert len({item.position for item in arrived}) == len(arrived), "one operation, one outcome"
    records: list[AnyRecord] = [
        Completed(item.position, item.outcome, now_us, item.payload, False, 0, item.attempt)
        for item in arrived
        if not item.recorded
    ]
    clear_inbox(core, run)
    if records:
        core.append(run, records)
        core.wake()


def lift(core: Core, arrival: Arrival) -> None:
    """An outcome that was weighed waits no more."""
    weight, arrival.weight = arrival.weight, 0
    core.log.weigh(-weight)


def clear_inbox(core: Core, run: Run) -> None:
    """Forget what waits for a turn of the run."""
    for item in run.inbox:
        if type(item) is Arrival and item.weight:
            lift(core, item)
    run.inbox.clear()


def step_failed(core: Core, run: Run, token: object, failed: AttemptFailed) -> None:
    """An attempt failed and another one is due: journal that, so no crash resets the count."""
    if run.in_flight.get(failed.position) is not token:
        return
    del run.in_flight[failed.position]
    if not run.is_open:
        return
    core.append(run, [failed])
    core.wake()
    run.attempts[failed.position] = failed
    program = run.program
    op = program.pending.get(failed.position) if program is not None else None
    if op is None or core.draining:
        return
    if op.cancel_requested:
        run.inbox.append(_cancelled(op))
        core.queue(run)
    else:
        core.arm_timer(run, failed.position, failed.due_us)


def step_lost(run: Run, token: object, position: int) -> None:
    """An attempt was cut off by shutdown: nothing is recorded, it runs again after a restart."""
    if run.in_flight.get(position) is token:
        del run.in_flight[position]
