"""Timers end once, and never before they are due."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.record.kinds import OpKind, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fusee.testing.checkers.facts import Facts


def early_timers(facts: Facts) -> Iterator[str]:
    """Yield a sentence for each sleep or timeout that ended before its time.

    That none ends twice is checked where facts are collected: nothing completes twice.
    """
    for key, completed in facts.completed.items():
        scheduled = facts.scheduled.get(key)
        if scheduled is None:
            yield f"{key} has an outcome and was never scheduled"
            continue
        ends_by_time = scheduled.op == OpKind.SLEEP or completed.outcome == Outcome.TIMED_OUT
        is_over = completed.outcome != Outcome.FAILURE  # A cancelled sleep ends when it likes.
        if ends_by_time and is_over and scheduled.due_us > completed.at_us:
            early_us = scheduled.due_us - completed.at_us
            yield f"timer {key} ended {early_us} us before it was due"
