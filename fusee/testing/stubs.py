"""Stubs: functions that stand in for step functions, and a log of every call.

The log is kept outside of all processes, as a real service keeps it. A stub whose answers do
not vary is a service that remembers: asked again with the same key it gives the same answer.
One that varies answers anew each time, and only a correct engine makes nothing of that.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fusee.sdk.current import current_step
from fusee.testing.device import PowerLost

if TYPE_CHECKING:
    from collections.abc import Callable

    from fusee.sdk.step import StepSpec
    from fusee.testing.world import World

_MISSING: Final = object()


@dataclass(frozen=True, slots=True)
class StubCall:
    """One call of a stub."""

    key: str
    """The idempotency key "id/ordinal/position"."""
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    attempt: int
    life: int
    """Which life of the process made it, from 1."""
    answer: Any
    """What it returned, or the exception that it raised."""


class Stub:
    """Stands in for one step function in every life."""

    def __init__(
        self, world: World, spec: StepSpec, function: Callable[..., Any], *, varies: bool
    ) -> None:
        self.calls: list[StubCall] = []
        """Every call that reached the service, in order."""
        self.name = spec.name
        self._world = world
        self._function = function
        self._varies = varies
        self._remembered: dict[str, Any] = {}
        self.stand_in: Callable[..., Any] = self._call_async if spec.is_async else self._call

    def effects(self) -> list[StubCall]:
        """Return the first call of each key: how often something happened, not was asked for."""
        first: dict[str, StubCall] = {}
        for call in self.calls:
            first.setdefault(call.key, call)
        return list(first.values())

    async def _call_async(self, *args: Any, **kwargs: Any) -> Any:
        value = self._call(*args, **kwargs)
        return await value if inspect.isawaitable(value) else value

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        process = self._world.process
        if process is None or not process.is_alive:
            raise PowerLost
        process.point("before-call")
        step = current_step()
        answer = _MISSING if self._varies else self._remembered.get(step.key, _MISSING)
        error: Exception | None = None
        if answer is _MISSING:
            try:
                answer = self._function(*args, **kwargs)
            except Exception as raised:
                error = raised
            else:
                self._remembered[step.key] = answer
        self.calls.append(
            StubCall(step.key, args, kwargs, step.attempt, process.number, error or answer)
        )
        process.point("after-call")
        if error is not None:
            raise error
        return answer
