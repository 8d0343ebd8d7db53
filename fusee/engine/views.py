"""What people see of runs: descriptions, journals, lists. Read from records alone.

The same functions serve a live engine and a directory that nobody has open, so both say
the same about the same log.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from fusee.engine.run import Finished, Run, records_of
from fusee.journal.history import build_history
from fusee.journal.texts import operation_text
from fusee.record.failure import describe_failure
from fusee.record.kinds import (
    AnyRecord,
    AttemptFailed,
    Closed,
    Completed,
    Delivered,
    Drawn,
    OpKind,
    Outcome,
    Scheduled,
    SignalReceived,
    Started,
    Status,
)

if TYPE_CHECKING:
    from fusee.journal.history import History


class RunStatus(StrEnum):
    """How far a run is. Once reported, a final status never changes."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TERMINATED = "terminated"
    TIMED_OUT = "timed_out"
    CONTINUED = "continued"


class PendingOperation(msgspec.Struct, frozen=True):
    """An operation without an outcome. `next_at` is its due time, None when it has none."""

    position: int
    kind: str
    name: str
    attempt: int
    next_at: datetime | None = None
    last_error: str | None = None


class RunInfo(msgspec.Struct, frozen=True):
    """One run as `describe()` returns it. Times are aware and in UTC."""

    id: str
    ordinal: int
    workflow: str
    version: str
    status: RunStatus
    started_at: datetime
    closed_at: datetime | None = None
    held: str | None = None
    held_text: str | None = None
    cancel_requested: bool = False
    paused: bool = False
    unread_signals: dict[str, int] = {}
    pending: list[PendingOperation] = []
    error: str | None = None
    waits_for_nothing: str | None = None
    """Said of a run that nothing can wake: its code waits, and for no operation. Known only
    while the code is in memory."""
    code: str | None = None
    """Where the code waits: "file:line in function". Known only while it is in memory."""


class JournalEntry(msgspec.Struct, frozen=True):
    """One operation of a run, as its journal holds it. `input` and `outcome` are JSON texts."""

    position: int
    kind: str
    name: str
    input: str
    outcome: str | None
    status: str
    """scheduled, value, failure, signal, timed_out; `delivered` says whether the code saw it."""
    delivered: bool
    at: datetime
    took_us: int | None
    attempts: int
    errors: list[str] = []


class RunRow(msgspec.Struct, frozen=True):
    """One run in a list."""

    id: str
    ordinal: int
    workflow: str
    version: str
    status: RunStatus
    held: str | None
    started_at: datetime
    closed_at: datetime | None


def instant(us: int) -> datetime:
    """Return microseconds since 1970 as an aware datetime."""
    return datetime.fromtimestamp(us / 1e6, UTC)


def status_word(status: Status | None) -> RunStatus:
    """Return the public word for a status; None is an open run."""
    return RunStatus.RUNNING if status is None else RunStatus[status.name]


def row(run: Run | Finished) -> RunRow:
    """Return a run as a row of a list."""
    started = run.facts()
    held = run.held if isinstance(run, Run) else None
    closed = run.closed() if run.closed_status is not None else None
    return RunRow(
        run.workflow_id,
        run.ordinal,
        started.workflow,
        started.version,
        status_word(run.closed_status),
        held.reason if held else None,
        instant(started.at_us),
        instant(closed.at_us) if closed else None,
    )


def describe(run: Run | Finished) -> RunInfo:
    """Return everything that describes one run."""
    history = build_history(records_of(run))
    started = history.started
    held = run.held if isinstance(run, Run) else None
    unread: dict[str, int] = {}
    for signal in history.unread():
        unread[signal.name] = unread.get(signal.name, 0) + 1
    closed = history.closed
    return RunInfo(
        id=run.workflow_id,
        ordinal=run.ordinal,
        workflow=started.workflow,
        version=started.version,
        status=status_word(run.closed_status),
        started_at=instant(started.at_us),
        closed_at=instant(closed.at_us) if closed else None,
        held=held.reason if held else None,
        held_text=held.text if held else None,
        unread_signals=unread,
        pending=[] if closed else _pending(run, history),
        error=_failure_text(closed.payload)
        if closed and closed.payload and _failed(closed)
        else None,
        waits_for_nothing=_waits_for_nothing(run) if isinstance(run, Run) else None,
        code=_code(run) if isinstance(run, Run) else None,
    )


def _code(run: Run) -> str | None:
    """Say where the code of a run waits, None while it is not in memory or being replayed."""
    program = run.program
    if program is None or program.machine.history is not None:
        return None
    return program.rest().source or None


def _waits_for_nothing(run: Run) -> str | None:
    """Say where the code of a run waits for what only that code could bring, None if it does not.

    An event that no task of the run will set, a future nobody has: each outcome that could give
    the code a turn has been handed over, and no operation is left to have another one.
    """
    program = run.program
    if program is None or not run.is_open or run.inbox or program.pending:
        return None
    if program.ending is not None or program.machine.history is not None:
        return None
    where = _code(run)
    at = f" at {where}" if where else ""
    return (
        f"the code waits{at} for something that only its own code could bring: it has no step, "
        "sleep or wait for a signal under way"
    )


def _failed(closed: Closed) -> bool:
    return closed.status == Status.FAILED


def _failure_text(payload: bytes) -> str:
    kind, message = describe_failure(payload)
    return f"{kind}: {message}"


def _pending(run: Run | Finished, history: History) -> list[PendingOperation]:
    done = {c.position for c in history.deliveries} | set(history.undelivered)
    done |= set(history.immediate)
    found: list[PendingOperation] = []
    program = run.program if isinstance(run, Run) else None
    for position, record in history.scheduled.items():
        if isinstance(record, Drawn) or position in done:
            continue
        if program is not None and position not in program.pending:
            continue  # The code cancelled it.
        failed = history.attempts.get(position)
        due_us = failed.due_us if failed else record.due_us
        found.append(
            PendingOperation(
                position,
                OpKind(record.op).name.lower(),
                record.name,
                failed.attempt + 1 if failed else 1,
                instant(due_us) if due_us else None,
                _failure_text(failed.failure) if failed else None,
            )
        )
    return found


def journal(run: Run | Finished) -> list[JournalEntry]:
    """Return the operations of a run in the order its code called them."""
    records = [record for turn in records_of(run) for record in turn]
    completed: dict[int, Completed] = {}
    errors: dict[int, list[str]] = {}
    delivered: set[int] = set()
    signals: dict[int, SignalReceived] = {}
    for record in records:
        match record:
            case Completed():
                completed[record.position] = record
                if record.delivered:
                    delivered.add(record.position)
            case Delivered():
                delivered.add(record.position)
            case AttemptFailed():
                errors.setdefault(record.position, []).append(_failure_text(record.failure))
            case SignalReceived():
                signals[record.number] = record
            case Started() | Closed() | Scheduled() | Drawn():
                pass
    return [
        _entry(r, completed, delivered, errors, signals)
        for r in records
        if isinstance(r, Scheduled | Drawn)
    ]


def _entry(
    record: Scheduled | Drawn,
    completed: dict[int, Completed],
    delivered: set[int],
    errors: dict[int, list[str]],
    signals: dict[int, SignalReceived],
) -> JournalEntry:
    kind = operation_text(record.op, "").removesuffix("()")
    at = instant(record.at_us)
    if isinstance(record, Drawn):
        value = _drawn_text(record)
        return JournalEntry(record.position, kind, "", "", value, "value", True, at, 0, 1)
    done = completed.get(record.position)
    failed = errors.get(record.position, [])
    outcome = None if done is None else _outcome_text(done, signals)
    return JournalEntry(
        position=record.position,
        kind=kind,
        name=record.name,
        input=text_of(record.input) if record.input else _due_text(record),
        outcome=outcome,
        status="scheduled" if done is None else Outcome(done.outcome).name.lower(),
        delivered=record.position in delivered,
        at=at,
        took_us=None if done is None else done.at_us - record.at_us,
        attempts=done.attempt if done is not None else len(failed) + 1,
        errors=failed,
    )


def _drawn_text(record: Drawn) -> str:
    """Return what the code was given, as JSON; `sdk.activation` says how the bytes become that."""
    data = record.value
    match OpKind(record.op):
        case OpKind.NOW:
            return f'"{instant(int.from_bytes(data, "big")).isoformat()}"'
        case OpKind.RANDOM if len(data) == 8:
            return repr((int.from_bytes(data, "big") >> 11) * 2.0**-53)
        case OpKind.UUID if len(data) == 16:
            return f'"{uuid.UUID(bytes=data, version=4)}"'
        case _:
            return f'"{data.hex()}"'  # The seed of a run's own generator.


def _due_text(record: Scheduled) -> str:
    return f"until {instant(record.due_us).isoformat()}" if record.due_us else ""


def _outcome_text(done: Completed, signals: dict[int, SignalReceived]) -> str:
    match Outcome(done.outcome):
        case Outcome.FAILURE:
            return _failure_text(done.payload)
        case Outcome.SIGNAL:
            return text_of(signals[done.number].payload)
        case Outcome.TIMED_OUT:
            return "timed out"
        case Outcome.VALUE:
            return text_of(done.payload)


def text_of(payload: bytes) -> str:
    """Return a payload for people: JSON as it is, None as null, other bytes as hexadecimal."""
    try:
        return payload.decode() or "null"
    except UnicodeDecodeError:
        return payload.hex()


def count_records(run: Run | Finished) -> int:
    """Return how many records a run has."""
    return sum(len(turn) for turn in records_of(run))


__all__ = [
    "AnyRecord",
    "JournalEntry",
    "PendingOperation",
    "RunInfo",
    "RunRow",
    "RunStatus",
    "count_records",
    "describe",
    "instant",
    "journal",
    "row",
    "text_of",
]
