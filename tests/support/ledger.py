"""What the outside world saw, and the promises about it. Every entry is checked twice:

    when it leaves     it rests on records that are durable at this moment
    ever after         each later disk still has those records, and nothing says otherwise

Violations are collected, not raised: what finds them runs inside the engine's own callbacks.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fusee.record.kinds import Status
from fusee.sdk.current import current_step
from tests.support.facts import Facts


@dataclass(frozen=True)
class Call:
    """One call of the external service."""

    life: int
    key: str
    attempt: int
    input: dict[str, Any]
    answer: str


class ExternalService:
    """Logs every call, and answers differently each time."""

    def __init__(self, ledger: Ledger) -> None:
        self.calls: list[Call] = []
        self._ledger = ledger

    def call(self, *, read_only: bool = False, **given: Any) -> str:
        """Be called by a step function, as the first thing it does."""
        step = current_step()
        answer = f"{'-'.join(map(str, given.values()))}#{len(self.calls) + 1}"
        self.calls.append(Call(self._ledger.life, step.key, step.attempt, given, answer))
        if not read_only:
            self._ledger.on_input(step.key, step.attempt, given)
        return answer

    def calls_of(self, key: str) -> list[Call]:
        return [call for call in self.calls if call.key == key]


class UncheckedService(ExternalService):
    """For tests that look at something else."""

    def __init__(self) -> None:
        super().__init__(Ledger())

    def call(self, *, read_only: bool = False, **given: Any) -> str:
        return super().call(read_only=True, **given)


class Ledger:
    """Everything that left the engine, over all lives of the process."""

    def __init__(self) -> None:
        self.life = 0
        self.facts = Facts()
        """What is durable now."""
        self.violations: list[str] = []
        self.inputs: dict[str, dict[str, Any]] = {}
        self.started: dict[str, int] = {}
        self.signals: dict[tuple[str, str], bytes] = {}
        self.results: dict[str, Any] = {}
        self.answers: dict[str, list[str]] = {}
        self.refusals: dict[str, int] = defaultdict(int)
        self.is_engine_dead: Callable[[], bool] = lambda: False

    def blame(self, text: str) -> None:
        self.violations.append(f"life {self.life}: {text}")

    # ---------------------------------------------------------------- leaving

    def on_input(self, key: str, attempt: int, given: dict[str, Any]) -> None:
        """A step with effects was called."""
        if self.is_engine_dead():
            self.blame(f"step {key} ran after the engine had stopped")
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

    def on_started(self, workflow_id: str, ordinal: int) -> None:
        if f"{workflow_id}/{ordinal}" not in self.facts.started:
            self.blame(f"start of {workflow_id}/{ordinal} acknowledged before it was durable")
        if self.started.setdefault(workflow_id, ordinal) != ordinal:
            self.blame(f"start of {workflow_id}: was {self.started[workflow_id]}, now {ordinal}")

    def on_signalled(self, run: str, signal_id: str, payload: bytes) -> None:
        if self.facts.signals.get((run, signal_id)) != payload:
            self.blame(f"signal {signal_id} of {run} acknowledged before it was durable")
        self.signals[run, signal_id] = payload

    def on_result(self, run: str, outcome: Any) -> None:
        closed = self.facts.closed.get(run)
        if closed is None:
            self.blame(f"result of {run} left before it was durable")
        elif closed.status == Status.COMPLETED and json.loads(closed.payload) != outcome:
            self.blame(f"result of {run} is {outcome!r}, durable is {closed.payload!r}")
        if self.results.setdefault(run, outcome) != outcome:
            self.blame(f"result of {run} was {self.results[run]!r}, now {outcome!r}")

    def on_answer(self, run: str, seen: list[str]) -> None:
        """A query was answered with the results the run has seen."""
        durable = [json.loads(p) for p in self.facts.values[run] if p and p[:1] in b'"[{']
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
        """Check a disk against everything that ever left."""
        for text in facts.contradictions:
            self.blame(f"the log contradicts itself: {text}")
        for workflow_id, ordinal in self.started.items():
            if f"{workflow_id}/{ordinal}" not in facts.started:
                self.blame(f"acknowledged start of {workflow_id}/{ordinal} is lost")
        for (run, signal_id), payload in self.signals.items():
            if facts.signals.get((run, signal_id)) != payload:
                self.blame(f"acknowledged signal {signal_id} of {run} is lost")
        for run, outcome in self.results.items():
            closed = facts.closed.get(run)
            if closed is None:
                self.blame(f"result of {run}, which somebody has seen, is lost")
            elif closed.status == Status.COMPLETED and json.loads(closed.payload) != outcome:
                self.blame(f"result of {run} was {outcome!r}, is now {closed.payload!r}")
        for key in self.inputs:
            if key not in facts.scheduled:
                self.blame(f"step {key} ran and the log does not know of it")
        self._check_values(facts)

    def _check_values(self, facts: Facts) -> None:
        """A result that was durable once stays what it was."""
        for key, record in self.facts.completed.items():
            if facts.completed.get(key, record) != record:
                self.blame(f"result of {key} was {record!r}, is now {facts.completed[key]!r}")
            if key not in facts.completed:
                self.blame(f"durable result of {key} is lost")

    def assert_kept(self) -> None:
        """Every promise held."""
        assert not self.violations, "\n".join(self.violations)
