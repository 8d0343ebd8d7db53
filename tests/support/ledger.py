"""The outside of a crash test: a service that logs every call, and the ledger of what was seen.

The ledger and its promises are those of the simulator; here every scenario starts each ID once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fusee.sdk.current import current_step
from fusee.testing.checkers import ledger


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


class Ledger(ledger.Ledger):
    """Everything that left the engine, over all lives of the process."""

    def __init__(self) -> None:
        super().__init__()
        self.is_engine_dead: Callable[[], bool] = lambda: False

    def on_input(self, key: str, attempt: int, given: Mapping[str, Any]) -> None:
        if self.is_engine_dead():
            self.blame(f"step {key} ran after the engine had stopped")
        super().on_input(key, attempt, given)

    def on_started(self, workflow_id: str, ordinal: int) -> None:  # type: ignore[override]
        super().on_started(workflow_id, f"start {workflow_id}", ordinal)

    def assert_kept(self) -> None:
        """Every promise held."""
        assert not self.violations, "\n".join(self.violations)
