"""What a run that contradicts its journal says: both operations, where, and a hint.

The first line is the one people search for; then facts; then one hint.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from fusee.base.errors import NonDeterminism
from fusee.record.kinds import OpKind

if TYPE_CHECKING:
    from fusee.journal.history import History
    from fusee.record.kinds import Drawn, Scheduled

_WORDS = {
    OpKind.STEP: "step",
    OpKind.SLEEP: "sleep",
    OpKind.WAIT: "wait for signal",
    OpKind.NOW: "now()",
    OpKind.RANDOM: "random()",
    OpKind.UUID: "uuid4()",
    OpKind.MESSAGE: "message",
}


class RunFacts(msgspec.Struct, frozen=True):
    """What identifies a run in a text."""

    workflow_id: str
    ordinal: int
    workflow: str
    version: str
    python: str = ""
    fusee: str = ""


class Called(msgspec.Struct, frozen=True):
    """What the code did instead of what the journal holds. `source` is "file:line in function"."""

    verb: str
    what: str
    source: str = ""

    @classmethod
    def operation(cls, op: OpKind, name: str, source: str) -> Called:
        """The code called an operation."""
        return cls("called", operation_text(op, name), source)

    def at(self, source: str) -> Called:
        """Return the same with a place."""
        return Called(self.verb, self.what, source)


def operation_text(op: int, name: str) -> str:
    """Return how people read an operation: step 'charge', now()."""
    word = _WORDS[OpKind(op)]
    return f"{word} '{name}'" if name else word


def mismatch_at_call(
    facts: RunFacts, history: History, position: int, called: Called
) -> NonDeterminism:
    """The code called another operation than the journal holds at `position`."""
    recorded = history.scheduled.get(position)
    if recorded is None:
        completed = history.deliveries[0]
        at = history.scheduled[completed.position]
        what = f"the outcome of {operation_text(at.op, _name(at))}"
        return _error(facts, position, what, at, called, hint="")
    what = operation_text(recorded.op, _name(recorded))
    return _error(facts, position, what, recorded, called, _hint(history, position, called))


def mismatch_at_rest(
    facts: RunFacts, history: History, position: int, called: Called
) -> NonDeterminism:
    """The code waits, returned or raised where the recorded code went on."""
    recorded = history.scheduled[position]
    what = operation_text(recorded.op, _name(recorded))
    hint = "an operation was removed or moved; restore it or register the old code as a version"
    return _error(facts, position, what, recorded, called, hint)


def mismatch_at_cancel(
    facts: RunFacts, recorded: Scheduled | Drawn, position: int, called: Called
) -> NonDeterminism:
    """The code cancelled an operation whose outcome the recorded code was handed."""
    what = f"the outcome of {operation_text(recorded.op, _name(recorded))}"
    return _error(facts, position, what, recorded, called, hint="")


def _name(record: Scheduled | Drawn) -> str:
    return getattr(record, "name", "")


def _hint(history: History, position: int, called: Called) -> str:
    for later in range(position + 1, history.position_last + 1):
        record = history.scheduled[later]
        if operation_text(record.op, _name(record)) == called.what:
            if later == position + 1 and record.at_us == history.scheduled[position].at_us:
                return "two names swapped within one turn: is a set of strings iterated?"
            return (
                f"{called.what} is recorded later, at position {later}: an operation was removed "
                "or moved; register the old code under its version or restore the order"
            )
    return (
        f"the journal never recorded {called.what} after this place: an operation was added "
        "or renamed; register the old code under its version"
    )


def _error(
    facts: RunFacts,
    position: int,
    recorded: str,
    record: Scheduled | Drawn,
    called: Called,
    hint: str,
) -> NonDeterminism:
    at = datetime.fromtimestamp(record.at_us / 1e6, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    first = {
        "called": f"the code called {called.what}",
        "returned": "the code returned",
        "raised": f"the code raised {called.what}",
        "is": f"the code is {called.what}",
        "cancelled": "the code cancelled it",
    }[called.verb]
    run = f"{facts.workflow_id}/{facts.ordinal} ({facts.workflow}@{facts.version})"
    where = f", at {called.source}" if called.source else ""
    lines = [
        f"the journal recorded {recorded} here but {first}",
        f"  run {run}, position {position}{where}",
        f"  recorded: {recorded}   (python {facts.python}, fusee {facts.fusee}, {at})",
        f"  called:   {called.what or called.verb}",
        "  held: the run waits for code that matches; nothing was run",
    ]
    if hint:
        lines.append(f"  hint: {hint}")
    return NonDeterminism("\n".join(lines), position, recorded, called.what, called.source)
