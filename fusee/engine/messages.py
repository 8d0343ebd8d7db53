"""Signals in, queries out.

A signal is recorded when it is accepted and handed to the oldest waiter of its name, one
signal to one waiter. It is deduplicated by `signal_id` for the life of the run and never
lost: what nobody waits for stays unread. A query writes nothing, but its answer leaves the
process, so the answer waits until the state it read is committed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fusee.base.errors import Backlogged, FuseeError, RunHeld, RunNotFound, WorkflowFinished
from fusee.base.ids import ShardId
from fusee.base.limits import UNREAD_SIGNALS_MAX
from fusee.engine.run import Finished, Run, Signals, records_of
from fusee.record.group import decode_journal, encode_records
from fusee.record.kinds import Completed, Outcome, SignalReceived

if TYPE_CHECKING:
    from collections.abc import Callable

    from fusee.base.ids import Ticket
    from fusee.engine.core import Core


class Refused(Exception):
    """A call was refused: `error` for the caller, once everything up to `ticket` is committed."""

    def __init__(self, error: FuseeError, ticket: Ticket) -> None:
        super().__init__(error)
        self.error = error
        self.ticket = ticket


def not_found(workflow_id: str, ordinal: int | None) -> RunNotFound:
    """Return the error for an ID that was never used, or has no such run."""
    if ordinal is None:
        return RunNotFound(f"no run has the ID {workflow_id!r}")
    return RunNotFound(f"there is no run {ordinal} of the ID {workflow_id!r}")


def find_open(core: Core, workflow_id: str, ordinal: int | None) -> Run:
    """Return the open run of an ID. Raises `Refused` when there is none."""
    run = core.table.find(workflow_id, ordinal)
    if run is None:
        raise Refused(not_found(workflow_id, ordinal), core.log.appended)
    if isinstance(run, Finished) or not run.is_open:
        raise Refused(
            WorkflowFinished(f"run {workflow_id}/{run.ordinal} has finished; it takes no messages"),
            ticket_of(core, run),
        )
    return run


def ticket_of(core: Core, run: Run | Finished) -> Ticket:
    """Return what an answer that tells of the run depends on."""
    return core.gate.committed if isinstance(run, Finished) else run.last_ticket


def signals_of(run: Run) -> Signals:
    """Return the signals of a run, reading them from its journal when it is not loaded."""
    if run.signals is None:
        run.signals = Signals()
        consumed: set[int] = set()
        received: list[SignalReceived] = []
        for records in records_of(run):
            for record in records:
                if isinstance(record, SignalReceived):
                    received.append(record)
                elif isinstance(record, Completed) and record.outcome == Outcome.SIGNAL:
                    consumed.add(record.number)
        for record in received:
            run.signals.add(record, unread=record.number not in consumed)
    return run.signals


class Signalled:
    """How a signal was taken: its ticket, and whether its ID was known with another payload."""

    __slots__ = ("input_differs", "ticket")

    def __init__(self, ticket: Ticket, input_differs: bool = False) -> None:
        self.ticket = ticket
        self.input_differs = input_differs


def signal(
    core: Core, workflow_id: str, ordinal: int | None, name: str, signal_id: str, payload: bytes
) -> Signalled:
    """Record a signal. Raises `Refused`; nothing is appended then.

    A signal that comes again is acknowledged again, also by a run that has finished meanwhile:
    its sender lost our first answer, and a refusal would say that the signal was lost.
    """
    try:
        run = find_open(core, workflow_id, ordinal)
    except Refused:
        ended = core.table.find(workflow_id, ordinal)
        past = None if ended is None else _received(ended, signal_id)
        if ended is None or past is None:
            raise
        return Signalled(ticket_of(core, ended), input_differs=past.payload != payload)
    signals = signals_of(run)
    known = signals.ids.get(signal_id)
    if known is not None:
        return Signalled(run.last_ticket, input_differs=known != payload)
    record = _next_signal(core, run, signals, name, signal_id, payload, sender="")
    signals.add(record)
    ticket = core.append(run, [record])
    core.wake()
    offer(core, run, name)
    return Signalled(ticket)


def _received(run: Run | Finished, signal_id: str) -> SignalReceived | None:
    """Return the signal of an ID that a run has received, read from its journal."""
    for records in records_of(run):
        for record in records:
            if isinstance(record, SignalReceived) and record.signal_id == signal_id:
                return record
    return None


def _next_signal(
    core: Core, run: Run, signals: Signals, name: str, signal_id: str, payload: bytes, sender: str
) -> SignalReceived:
    if signals.unread_count() >= UNREAD_SIGNALS_MAX:
        error = Backlogged(
            f"run {run.key} has {UNREAD_SIGNALS_MAX} unread signals; it must read some first"
        )
        raise Refused(error, run.last_ticket)
    return SignalReceived(signals.count + 1, name, signal_id, payload, core.log.now_us(), sender)


def offer(core: Core, run: Run, name: str) -> None:
    """A signal of this name is unread: hand it to a waiter, bringing the run back if need be."""
    program = run.program
    if run.held is not None:
        return
    if program is None:
        core.queue(run)
    elif program.machine.history is None and signals_of(run).oldest_waiter(name, program.pending):
        run.inbox.append(name)
        core.queue(run)


def stage(
    core: Core, sender: Run, position: int, target_id: str, name: str, payload: bytes
) -> None:
    """A run signals another one: the record joins the sender's atomic group.

    Raises the error that the sending code shall see; nothing is staged then.
    """
    try:
        receiver = find_open(core, target_id, None)
        signals = signals_of(receiver)
        signal_id = f"{sender.key}/{position}"
        record = _next_signal(core, receiver, signals, name, signal_id, payload, sender.key)
    except Refused as refused:
        raise refused.error from None
    signals.add(record)
    sender.outbox.append((position, receiver, record))


def take_back(sender: Run) -> None:
    """Undo what a turn that is not recorded has staged for other runs."""
    while sender.outbox:
        _, receiver, record = sender.outbox.pop()
        if receiver.signals is not None:
            receiver.signals.take_back(record)


# ---------------------------------------------------------------- queries


def query(
    core: Core,
    workflow_id: str,
    ordinal: int | None,
    name: str,
    payload: bytes,
    reply: Callable[[Any], None],
) -> None:
    """Answer with bytes or an exception through `reply`, once the state read is committed."""
    found = core.table.find(workflow_id, ordinal)
    if found is None:
        core.gate.when(core.log.appended, reply, not_found(workflow_id, ordinal))
        return
    if isinstance(found, Run) and found.is_open:
        run = found
    else:
        run = view_of(core, found)
    if run.held is not None:
        core.gate.when(run.last_ticket, reply, RunHeld(run.held.text, run.held.reason))
        return
    run.queries.append((name, payload, reply))
    if run.program is not None and run.program.machine.history is None:
        answer_queries(core, run)
    else:
        core.queue(run)


def view_of(core: Core, closed: Run | Finished) -> Run:
    """Return a copy of a closed run that can be replayed to be asked something."""
    view = Run(closed.workflow_id, closed.ordinal, ShardId(0), None)
    view.closed_status = closed.closed_status
    if isinstance(closed, Finished):
        view.groups = [encode_records(turn) for turn in decode_journal(closed.journal)]
        view.last_ticket = core.gate.committed
    else:
        view.groups = list(closed.groups)
        view.last_ticket = closed.last_ticket
    view.viewing = True
    return view


def answer_queries(core: Core, run: Run) -> None:
    """Answer what waits, from the state the code is in now."""
    program = run.program
    assert program is not None, "only loaded code answers"
    waiting, run.queries = run.queries, []
    for index, (name, payload, reply) in enumerate(waiting):
        if program.spoiled:
            run.queries = waiting[index:]
            break
        try:
            answer: Any = program.query(name, payload)
        except Exception as error:  # A handler may raise anything; it is the caller's answer.
            answer = error
        core.gate.when(run.last_ticket, reply, answer)
    if program.spoiled:
        core.reload(run)
