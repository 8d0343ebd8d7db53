"""What the outside world saw, and the promises about it. Every entry is checked twice:

    when it leaves     it rests on records that are durable at this moment
    ever after         each later disk still has those records, and nothing says otherwise

Violations are collected, not raised: what finds them runs inside the engine's own callbacks.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from fusee.record.failure import describe_failure
from fusee.record.kinds import Status
from fusee.testing.checkers.facts import Facts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fusee.record.kinds import Closed

VIOLATIONS_MAX = 100


class Ledger:
    """Everything that left the engine, over all lives of the process."""

    def __init__(self) -> None:
        self.life = 0
        self.facts = Facts()
        """What is durable now."""
        self.violations: list[str] = []
        self.inputs: dict[str, Mapping[str, Any]] = {}
        self.started: dict[tuple[str, str], int] = {}
        """(workflow id, request id) -> ordinal."""
        self.signals: dict[tuple[str, str], bytes] = {}
        self.results: dict[str, Any] = {}
        self.answers: dict[str, list[str]] = {}
        self.refusals: dict[str, int] = defaultdict(int)

    def blame(self, text: str) -> None:
        """Note a broken promise."""
        if len(self.violations) < VIOLATIONS_MAX:
            self.violations.append(f"life {self.life}: {text}")

    # ---------------------------------------------------------------- leaving

    def on_input(self, key: str, attempt: int, given: Mapping[str, Any]) -> None:
        """A step with effects was called."""
        facts = self.facts
        scheduled = facts.scheduled.get(key)
        if scheduled is None:
            self.blame(f"step {key} ran before its scheduled record was durable")
        elif json.loads(scheduled.input or b"{}") != given:
            self.blame(f"step {key} ran with {given}, recorded was {scheduled.input!r}")
        if self.inputs.setdefault(key, given) != given:
            self.blame(f"key {key} saw {self.inputs[key]} and then {given}")
        if key in facts.completed:
            self.blame(f"step {key} ran again though its result was durable")
        failed = facts.attempts_failed.get(key, 0)
        if attempt != failed + 1:
            self.blame(f"step {key} ran as attempt {attempt} after {failed} durable failures")

    def on_started(self, workflow_id: str, request_id: str, ordinal: int) -> None:
        """A start was acknowledged."""
        if f"{workflow_id}/{ordinal}" not in self.facts.started:
            self.blame(f"start of {workflow_id}/{ordinal} acknowledged before it was durable")
        before = self.started.setdefault((workflow_id, request_id), ordinal)
        if before != ordinal:
            self.blame(f"request {request_id} of {workflow_id} began run {before}, now {ordinal}")

    def on_signalled(self, run: str, signal_id: str, payload: bytes) -> None:
        """A signal was acknowledged."""
        if self.facts.signals.get((run, signal_id)) != payload:
            self.blame(f"signal {signal_id} of {run} acknowledged before it was durable")
        self.signals[run, signal_id] = payload

    def on_result(self, run: str, outcome: Any) -> None:
        """Somebody was told how a run ended: its result, or the text of its error."""
        closed = self.facts.closed.get(run)
        if closed is None:
            self.blame(f"result of {run} left before it was durable")
        elif not _says(closed, outcome):
            self.blame(f"result of {run} is {outcome!r}, durable is {closed!r}")
        if self.results.setdefault(run, outcome) != outcome:
            self.blame(f"result of {run} was {self.results[run]!r}, now {outcome!r}")

    def on_answer(self, run: str, seen: list[str]) -> None:
        """A query was answered with the results that the run has seen."""
        durable = {json.loads(p) for p in self.facts.values[run] if p[:1] == b'"'}
        for value in seen:
            if value not in durable:
                self.blame(f"query of {run} answered {value!r}, which is not durable")
        before = self.answers.get(run, [])
        if seen[: len(before)] != before[: len(seen)]:
            self.blame(f"query of {run} answered {before}, then {seen}")
        if len(seen) > len(before):
            self.answers[run] = seen

    def on_refusal(self, run: str, kind: str) -> None:
        """A call was refused because of a run that is open or has ended."""
        self.refusals[kind] += 1
        rests_on = self.facts.started if kind == "AlreadyRunning" else self.facts.closed
        if run not in rests_on:
            self.blame(f"{kind} for {run} left before what it rests on was durable")

    # ---------------------------------------------------------------- ever after

    def check(self, facts: Facts) -> None:
        """Check a disk against everything that ever left; from now on it is what is durable."""
        for text in facts.contradictions:
            self.blame(f"the log contradicts itself: {text}")
        for (workflow_id, request_id), ordinal in self.started.items():
            if f"{workflow_id}/{ordinal}" not in facts.started:
                self.blame(f"acknowledged start of {workflow_id}/{ordinal} ({request_id}) is lost")
        for (run, signal_id), payload in self.signals.items():
            if facts.signals.get((run, signal_id)) != payload:
                self.blame(f"acknowledged signal {signal_id} of {run} is lost")
        for run, outcome in self.results.items():
            closed = facts.closed.get(run)
            if closed is None:
                self.blame(f"result of {run}, which somebody has seen, is lost")
            elif not _says(closed, outcome):
                self.blame(f"result of {run} was {outcome!r}, is now {closed!r}")
        for key in self.inputs:
            if key not in facts.scheduled:
                self.blame(f"step {key} ran and the log does not know of it")
        self._check_kept(facts)
        self.facts = facts

    def _check_kept(self, facts: Facts) -> None:
        """What was durable once stays what it was, whoever has heard of it.

        Refusals rest on it, and so does every attempt that was not made again.
        """
        for what, were, are in (
            ("start", self.facts.started, facts.started),
            ("schedule", self.facts.scheduled, facts.scheduled),
            ("result", self.facts.completed, facts.completed),
            ("signal", self.facts.signals, facts.signals),
            ("end", self.facts.closed, facts.closed),
        ):
            self._check_table(what, were, are)
        for key, attempt in self.facts.attempts_failed.items():
            if facts.attempts_failed.get(key, 0) < attempt:
                self.blame(f"durable failure of {key}, attempt {attempt}, is lost")

    def _check_table(self, what: str, were: Mapping[Any, Any], are: Mapping[Any, Any]) -> None:
        for key, was in were.items():
            now = are.get(key)
            if now is None:
                self.blame(f"durable {what} of {key} is lost")
            elif now != was:
                self.blame(f"{what} of {key} was {was!r}, is now {now!r}")


def _says(closed: Closed, outcome: Any) -> bool:
    """Whether what somebody was told is how a run ended: its value, or the text of an error."""
    if closed.status == Status.COMPLETED:
        return bool(json.loads(closed.payload) == outcome)
    if not isinstance(outcome, str):
        return False
    if closed.status != Status.FAILED:
        return True
    kind, text = describe_failure(closed.payload)
    return kind.replace(":", ".").rpartition(".")[2] in outcome and text in outcome
