"""Answers in real-time order: what was told before a call began still holds for its answer.

A sequential model of each ID suffices, since runs of one ID follow each other: run n+1 begins
after run n has ended. What was durable when a call arrived must be visible in its answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fusee.testing.checkers.facts import Facts


class Past:
    """What was durable for one ID at the moment a call arrived."""

    __slots__ = ("closed", "newest")

    def __init__(self, facts: Facts, workflow_id: str) -> None:
        self.newest = facts.newest.get(workflow_id, 0)
        self.closed = f"{workflow_id}/{self.newest}" in facts.closed

    def stale(self, kind: str, ordinal: int) -> str | None:
        """Return what is wrong with an answer about a run, given what was durable before.

        kind: "started" (by this call), "AlreadyRunning", "AlreadyFinished", "WorkflowFinished".
        """
        if kind == "RunNotFound":
            return "no run was found, and one was there before" if self.newest else None
        if ordinal < self.newest:
            return f"{kind} tells of run {ordinal}; run {self.newest} was there before the call"
        if kind == "started" and ordinal == self.newest and self.closed:
            return f"run {ordinal} was started, and had ended before the call"
        if kind == "AlreadyRunning" and ordinal == self.newest and self.closed:
            return f"run {ordinal} is called open, and had ended before the call"
        return None
