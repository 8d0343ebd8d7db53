"""Turns: running workflow code, one outcome at a time.

A turn hands one outcome to the code, runs it until it waits again, and appends everything
it did as one group. Results that arrive together are still handed over one by one, so
wake-up order never depends on how records fell into batches (rule T-1).

A run that is not in memory is brought back by replay: the same turns, with outcomes taken
from the journal and calls compared instead of recorded. Each replayed outcome counts as a
turn, so a long replay never keeps new work waiting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.engine import messages, steps
from fusee.engine.appending import append_turn
from fusee.engine.core import WARNING
from fusee.engine.program import Arrival
from fusee.engine.run import Held, Run, Signals, records_of
from fusee.engine.watch import note_blocked
from fusee.journal.history import DamagedJournal, build_history
from fusee.journal.machine import Machine
from fusee.journal.texts import RunFacts
from fusee.record.group import CLOSES
from fusee.record.kinds import (
    Closed,
    Completed,
    Delivered,
    OpKind,
    Outcome,
    Status,
)

if TYPE_CHECKING:
    from fusee.engine.core import Core
    from fusee.engine.program import PendingOp, Program
    from fusee.journal.history import History

SIGNAL = Outcome.SIGNAL
GRACE_US = 30_000_000
"""How long a returned run waits for effectful steps that nobody awaited."""

GRACE_POSITION = 0
"""Positions of operations start at 1; the timer of the grace has this one."""


def run_turns(core: Core, turns_max: int) -> int:
    """Run ready turns, round-robin over runs, at most `turns_max`; return how many ran.

    None while too much waits for the disk (DR-6): what turns append is kept in memory until then.
    """
    ready = core.ready
    if not ready:
        return 0
    core.log.now_us()  # All turns of this call have one time.
    turns = 0
    watch, log = core.watch, core.log
    try:
        while ready and turns < turns_max and not core.draining and not log.is_full:
            watch.number += 1  # Before the run: see `TurnWatch.look`.
            run = watch.run = ready.popleft()
            run.queued = False
            turns += 1
            program = run.program
            if program is None:
                if run.held is None and (run.closed_status is None or run.viewing):
                    _load(core, run)
            elif program.machine.history is not None:
                _replay_one(core, run, program)
            elif run.inbox:
                _deliver(core, run, program)
            if watch.blocked:
                note_blocked(core)
            if run.inbox and run.program is not None:
                core.queue(run)
    finally:
        watch.run = None
    return turns


def _load(core: Core, run: Run) -> None:
    """Bring the code of a run into memory: its first turn, live or replayed."""
    started = run.facts()
    facts = RunFacts(
        run.workflow_id,
        run.ordinal,
        started.workflow,
        started.version,
        started.python,
        started.fusee,
    )
    history = None
    signals = Signals()
    if len(run.groups) > 1:
        try:
            history = build_history(records_of(run))
        except DamagedJournal as error:
            core.hold(run, Held("damaged-journal", str(error)))
            return
        for number, signal in history.signals.items():
            signals.add(signal, unread=number not in history.consumed)
        run.attempts = history.attempts
        if not history.position_last and history.closed is None:
            history = None  # Signals came before the first turn: there is nothing to replay.
    run.signals = signals
    machine = Machine(facts, history, started.at_us)
    loaded = core.load_program(run, machine)
    if isinstance(loaded, Held):
        core.hold(run, loaded)
        return
    run.program = loaded
    loaded.begin()
    _after_turn(core, run, loaded)


def _replay_one(core: Core, run: Run, program: Program) -> None:
    """Hand over the next recorded outcome."""
    record = program.machine.next_delivery()
    assert record is not None, "a replay without outcomes has gone live"
    payload = record.payload
    assert run.signals is not None
    if record.outcome == Outcome.SIGNAL:
        payload = run.signals.received[record.number].payload
    program.deliver(
        Arrival(
            record.position,
            Outcome(record.outcome),
            payload,
            attempt=record.attempt,
            number=record.number,
            recorded=True,
        )
    )
    _after_turn(core, run, program)


def _deliver(core: Core, run: Run, program: Program) -> None:
    """Hand over the next outcome that arrived, recording that the code sees it now."""
    item = run.inbox.popleft()
    if not isinstance(item, str):
        arrival = item
    else:
        found = _signal_arrival(core, run, program)
        if found is None:
            return
        arrival = found
    if arrival.weight:
        steps.lift(core, arrival)
    position = arrival.position
    assert position in program.pending, "what waits for a turn is wanted (J-10)"
    machine = program.machine
    now_us = core.log.recent_us
    if now_us > machine.now_us:
        machine.now_us = now_us
    else:
        now_us = machine.now_us
    if arrival.recorded:
        machine.out.append(Delivered(position, now_us))
    else:
        outcome = arrival.outcome
        payload = b"" if outcome is SIGNAL else arrival.payload
        machine.out.append(
            Completed(position, outcome, now_us, payload, True, arrival.number, arrival.attempt)
        )
    if run.timers:
        core.disarm_timer(run, position)
    program.deliver(arrival)
    if machine.mismatch is None and program.ending is None:
        _record_turn(core, run, program)
    else:
        _ended_or_held(core, run, program, arrival)


def _ended_or_held(core: Core, run: Run, program: Program, arrival: Arrival) -> None:
    """A live turn in which the code ended, or went where it cannot go on."""
    machine = program.machine
    ending = program.ending
    if machine.mismatch is not None or (ending is not None and ending.hold):
        # The turn is not recorded, but what arrived is: no function runs again for it.
        machine.out.clear()
        run.inbox.appendleft(arrival)
    _after_turn(core, run, program)


def _signal_arrival(core: Core, run: Run, program: Program) -> Arrival | None:
    """Pair the oldest unread signal that somebody waits for with its oldest waiter."""
    signals = run.signals
    assert signals is not None
    found = [
        (unread[0].number, name, waiter)
        for name, unread in signals.unread.items()
        if unread and (waiter := signals.oldest_waiter(name, program.pending)) is not None
    ]
    if not found:
        return None
    _, name, waiter = min(found, key=lambda item: item[0])
    signals.waiting[name].popleft()
    steps.forget_arrived(core, run, waiter.position)
    record = signals.unread[name].popleft()
    if not signals.unread[name]:
        del signals.unread[name]
    return Arrival(waiter.position, Outcome.SIGNAL, record.payload, number=record.number)


def _after_turn(core: Core, run: Run, program: Program) -> None:
    """The code waits again: compare with the journal, or record what the turn did."""
    machine = program.machine
    history = machine.history
    if history is not None:
        _check_replay(core, run, program, history)
        if run.program is None or machine.history is not None:
            return
    if machine.mismatch is not None:
        core.hold_for(run, machine.mismatch)
        return
    ending = program.ending
    if ending is not None and run.is_open:
        if ending.hold:
            core.hold(run, Held(ending.hold, f"run {run.key} is held: the code {ending.text}"))
            return
        if _may_close(core, run, program):
            _close(core, run, program)
            return
    _record_turn(core, run, program)


def _record_turn(core: Core, run: Run, program: Program) -> None:
    """Append the turn as one group, then set in motion what it called."""
    records = program.machine.out
    if records:
        program.machine.out = []
        if run.outbox:
            ticket = append_turn(core, run, records, 0)
        else:
            ticket = core.append(run, records)
    else:
        ticket = run.last_ticket
    if program.said:
        core.gate.when(ticket, core.say, program.take_said())
    if program.cancelled:
        for op in program.take_cancelled():
            steps.cancel(core, run, op)
    called, program.called = program.called, []
    for op in called:
        steps.arm(core, run, op, ticket)
    if run.queries:
        messages.answer_queries(core, run)


def _check_replay(core: Core, run: Run, program: Program, history: History) -> None:
    """After a replayed turn: still the same code? And if the history is used up, go live."""
    machine = program.machine
    upcoming = history.deliveries[0] if history.deliveries else None
    machine.at_rest(program.rest, upcoming)
    if machine.mismatch is not None:
        core.hold_for(run, machine.mismatch)
    elif upcoming is not None:
        core.queue(run)
    elif history.closed is not None:
        _finish_view(core, run, program)
    else:
        _go_live(run, program, history)


def _go_live(run: Run, program: Program, history: History) -> None:
    """The history is used up: what arrived unseen comes next, and nothing waits for it again.

    An operation has one outcome (rule J-10): a timer that was recorded as fired must not fire
    once more while its outcome waits for its turn, and a step not start again.
    """
    program.machine.go_live()
    for record in history.undelivered.values():
        run.inbox.append(
            Arrival(
                record.position,
                Outcome(record.outcome),
                record.payload,
                attempt=record.attempt,
                number=record.number,
                recorded=True,
            )
        )
    arrived = {item.position for item in run.inbox if type(item) is Arrival}
    if arrived:
        program.called = [op for op in program.called if op.position not in arrived]


def _finish_view(core: Core, run: Run, program: Program) -> None:
    """A closed run was replayed only to be asked something."""
    messages.answer_queries(core, run)
    run.viewing = False
    core.unload(run)


def _may_close(core: Core, run: Run, program: Program) -> bool:
    """Whether nothing that has effects is still under way; else wait for it, bounded."""
    effects = [op for op in program.pending.values() if _has_effects(op)]
    if not effects:
        return True
    assert program.ending is not None
    if not run.finishing:
        run.finishing = True
        core.arm_timer(run, GRACE_POSITION, core.log.now_us() + GRACE_US)
    if program.ending.status is not Status.COMPLETED:
        for op in effects:
            if not op.cancel_requested:
                op.cancel_requested = True
                steps.cancel(core, run, op)
    return False


def _has_effects(op: PendingOp) -> bool:
    return op.kind is OpKind.STEP and not op.read_only


def _close(core: Core, run: Run, program: Program) -> None:
    """The run ends: its last group, then everything that waited for the end."""
    ending = program.ending
    assert ending is not None
    records = program.machine.out
    program.machine.out = []
    _warn_of_abandoned(core, run, program)
    records.append(Closed(ending.status, core.log.now_us(), ending.payload))
    core.table.close(run, ending.status)
    if run.outbox:
        append_turn(core, run, records, CLOSES)
    else:
        core.append(run, records, CLOSES)
    if program.said:
        core.gate.when(run.last_ticket, core.say, program.take_said())
    closed(core, run)


def _warn_of_abandoned(core: Core, run: Run, program: Program) -> None:
    names = [f"'{op.name}'" for op in program.pending.values() if _has_effects(op)]
    if names:
        text = f"{run.key} ended while steps still ran; abandoned: {', '.join(names)}"
        program.said.append((WARNING, text))


def closed(core: Core, run: Run) -> None:
    """The last group of a run is appended: free its code, tell who waits once it survives."""
    assert not run.is_open, "the table knows of the end first"
    core.unload(run)
    cut_off, run.in_flight = run.in_flight, {}
    for token in cut_off.values():
        core.steps.cancel(token)  # Whatever outcome it still reports is nobody's now.
    waiting, run.queries = run.queries, []
    for name, payload, reply in waiting:
        messages.query(core, run.workflow_id, run.ordinal, name, payload, reply)
    for action in run.on_closed:
        core.gate.when(run.last_ticket, action, run)
    run.on_closed.clear()
    core.gate.when(run.last_ticket, core.table.compact, run)


def fire_timers(core: Core, timers_max: int) -> None:
    """Fire what is due, in order, at most `timers_max`."""
    now_us = core.log.now_us()
    for _ in range(timers_max):
        key = core.timers.pop_due(now_us)
        if key is None:
            break
        run = core.table.find(key.workflow_id, key.ordinal)
        if isinstance(run, Run) and run.timers.get(key.position) == key:
            del run.timers[key.position]
            _fired(core, run, key.position)


def _fired(core: Core, run: Run, position: int) -> None:
    program = run.program
    if program is None:
        core.queue(run)  # Parked: its own replay finds the timer overdue.
        return
    op = program.pending.get(position)
    if position == GRACE_POSITION:
        if program.ending is not None:
            _close(core, run, program)
    elif op is None:
        return
    elif op.kind is OpKind.STEP:
        # A retry: the record of the failed attempt must survive before the next one runs.
        core.gate.when(run.last_ticket, core.start, (run, op))
    else:
        outcome = Outcome.TIMED_OUT if op.kind is OpKind.WAIT else Outcome.VALUE
        run.inbox.append(Arrival(position, outcome))
        core.queue(run)
