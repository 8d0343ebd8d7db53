"""A message between runs is in both journals or in none: they share one atomic group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.record.kinds import OpKind, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fusee.testing.checkers.facts import Facts


def torn_messages(facts: Facts) -> Iterator[str]:
    """Yield a sentence for each message that only one of its two runs knows of."""
    received = {signal_id for _, signal_id in facts.signals}
    for key, completed in facts.completed.items():
        scheduled = facts.scheduled.get(key)
        if scheduled is None or scheduled.op != OpKind.MESSAGE:
            continue
        if completed.outcome == Outcome.VALUE and key not in received:
            yield f"message {key} was sent and nobody has received it"
    for run, signal_id in facts.signals:
        sender, _, position = signal_id.rpartition("/")
        if not (position.isdecimal() and sender in facts.started):
            continue
        if signal_id not in facts.scheduled:
            yield f"{run} received message {signal_id}, which its sender does not know of"
