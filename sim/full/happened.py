"""What the runs of a seed have gone through, as its disk tells it: marks of a campaign."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fusee.record.kinds import OpKind, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fusee.testing.checkers.ledger import Ledger

_ENDINGS: Final = {
    (OpKind.MESSAGE, Outcome.VALUE): "message:received",
    (OpKind.MESSAGE, Outcome.FAILURE): "message:refused",
    (OpKind.WAIT, Outcome.SIGNAL): "wait:signal",
    (OpKind.WAIT, Outcome.TIMED_OUT): "wait:timed-out",
    (OpKind.SLEEP, Outcome.VALUE): "sleep:over",
    (OpKind.STEP, Outcome.FAILURE): "step:failed",
}
HAPPENINGS: Final = (
    *_ENDINGS.values(), "attempt:failed", "query:answered", "signal:acknowledged",
)  # fmt: skip
"""Every mark that `happened` knows."""


def happened(ledger: Ledger) -> Iterator[str]:
    """Yield the mark of each operation that has ended, and of each answer that somebody has."""
    facts = ledger.facts
    for key, completed in facts.completed.items():
        scheduled = facts.scheduled.get(key)
        if scheduled is None:
            continue
        mark = _ENDINGS.get((OpKind(scheduled.op), Outcome(completed.outcome)))
        if mark is not None:
            yield mark
    for mark, found in (
        ("attempt:failed", facts.attempts_failed),
        ("query:answered", ledger.answers),
        ("signal:acknowledged", ledger.signals),
    ):
        if found:
            yield mark
