"""What earlier turns of a run recorded, arranged for replay.

Replay needs three things: what the code called at each position (to compare), the
outcomes in the order the code saw them (to hand over in just that order), and what had
arrived but was never seen (to hand over next, at any legal place; rule J-4).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import msgspec

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
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class DamagedJournal(Exception):
    """The records of a run contradict each other: a bug of an earlier build, never of user code."""


class History(msgspec.Struct):
    """The recorded past of one run."""

    started: Started
    scheduled: dict[int, Scheduled | Drawn] = {}
    deliveries: deque[Completed] = msgspec.field(default_factory=deque[Completed])
    immediate: dict[int, Completed] = {}
    undelivered: dict[int, Completed] = {}
    attempts: dict[int, AttemptFailed] = {}
    signals: dict[int, SignalReceived] = {}
    consumed: set[int] = set()
    closed: Closed | None = None
    position_last: int = 0

    def unread(self) -> list[SignalReceived]:
        """Return the signals that no wait has consumed, oldest first."""
        return [s for number, s in self.signals.items() if number not in self.consumed]


def build_history(turns: Iterable[Sequence[AnyRecord]]) -> History:
    """Arrange the records of a run, turn by turn. Raises `DamagedJournal` on contradictions."""
    history: History | None = None
    for records in turns:
        for record in records:
            if history is None:
                if not isinstance(record, Started):
                    raise DamagedJournal(f"a journal begins with {record!r}")
                history = History(record)
            else:
                _add(history, record)
    if history is None:
        raise DamagedJournal("a journal without records")
    return history


def _add(history: History, record: AnyRecord) -> None:
    if history.closed is not None:
        raise DamagedJournal(f"{record!r} after the end of the run")
    match record:
        case Scheduled() | Drawn():
            if record.position != history.position_last + 1:
                raise DamagedJournal(f"position {record.position} after {history.position_last}")
            history.position_last = record.position
            history.scheduled[record.position] = record
        case Completed():
            _add_completed(history, record)
        case Delivered():
            completed = history.undelivered.pop(record.position, None)
            if completed is None:
                raise DamagedJournal(f"{record!r} delivers an outcome that is not recorded")
            history.deliveries.append(msgspec.structs.replace(completed, at_us=record.at_us))
        case AttemptFailed():
            history.attempts[record.position] = record
        case SignalReceived():
            history.signals[record.number] = record
        case Closed():
            history.closed = record
        case Started():
            raise DamagedJournal("a run starts twice")


def _add_completed(history: History, record: Completed) -> None:
    scheduled = history.scheduled.get(record.position)
    if scheduled is None:
        raise DamagedJournal(f"{record!r} completes what was never scheduled")
    if record.outcome == Outcome.SIGNAL:
        history.consumed.add(record.number)
    if scheduled.op == OpKind.MESSAGE:
        history.immediate[record.position] = record
    elif record.delivered:
        history.deliveries.append(record)
    else:
        history.undelivered[record.position] = record
