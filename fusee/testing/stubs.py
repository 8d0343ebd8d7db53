"""Stubs: functions that stand in for step functions, and what a call of a step looks like.

A stub whose answers do not vary is a service that remembers: asked again with the same key it
gives the same answer. One that varies answers anew each time, and only a correct engine makes
nothing of that. What leads to them is in `calls.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from fusee.sdk.step import StepSpec
    from fusee.testing.cold import Modules


class NotAnswered:
    """The answer of a call whose process died before it came."""

    def __repr__(self) -> str:
        return "NOT_ANSWERED"


NOT_ANSWERED: Final = NotAnswered()


@dataclass(frozen=True, slots=True)
class StubCall:
    """One call of a step, as it arrived at its stub or at the step's own function."""

    key: str
    """The idempotency key "id/ordinal/position"."""
    step: str
    """The name of the step."""
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    attempt: int
    life: int
    """Which life of the process made it, from 1."""
    answer: Any = NOT_ANSWERED
    """What it returned, or the exception that it raised."""

    @property
    def is_answered(self) -> bool:
        """Whether the service did what it was asked."""
        return self.answer is not NOT_ANSWERED and not isinstance(self.answer, BaseException)


class Stub:
    """Stands in for one step function in every life. `Simulator.stub` makes it."""

    def __init__(self, spec: StepSpec, function: Callable[..., Any], *, varies: bool) -> None:
        self.calls: list[StubCall] = []
        """Every call that reached the service, in order."""
        self.name = spec.name
        self.spec = spec
        """The step, as the test knows it."""
        self._function = function
        self._varies = varies
        self._remembered: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"<stub of {self.name}, called {len(self.calls)} times>"

    def effects(self) -> list[StubCall]:
        """Return the first answered call of each key: what happened, not what was asked for."""
        first: dict[str, StubCall] = {}
        for call in self.calls:
            if call.is_answered:
                first.setdefault(call.key, call)
        return list(first.values())

    def ask(self, call: StubCall, modules: Modules | None) -> Any:
        """Answer a call from code of a life, which may have modules of its own."""
        if not self._varies and call.key in self._remembered:
            return self._remembered[call.key]
        if modules is not None:
            return modules.outside(self._function, *call.args, **call.kwargs)
        return self._function(*call.args, **call.kwargs)

    def remember(self, call: StubCall, answer: Any) -> None:
        """Give the same answer when the key comes again, unless answers vary."""
        self._remembered[call.key] = answer
