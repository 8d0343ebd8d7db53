"""Stubs: functions that stand in for step functions, and a log of every call.

The log is kept outside of all processes, as a real service keeps it. A stub whose answers do
not vary is a service that remembers: asked again with the same key it gives the same answer.
One that varies answers anew each time, and only a correct engine makes nothing of that.
"""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from fusee.engine.views import text_of
from fusee.sdk.current import current_step
from fusee.testing.cold import ColdRegistry, as_here
from fusee.testing.device import PowerLost

if TYPE_CHECKING:
    from collections.abc import Callable

    from fusee.io.attempt import Attempt
    from fusee.sdk.step import StepSpec
    from fusee.testing.process import Process
    from fusee.testing.world import World


class NotAnswered:
    """The answer of a call whose process died before it came."""

    def __repr__(self) -> str:
        return "NOT_ANSWERED"


NOT_ANSWERED: Final = NotAnswered()
_MISSING: Final = object()
HINT: Final = (
    "  hint: after a crash the code called the step again, with a value that no journal holds, "
    "such as one of a global, random or datetime.now(); take it from a step, or from ctx"
)
"""What it is when the engine is not at fault."""


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
    answer: Any = NOT_ANSWERED
    """What it returned, or the exception that it raised."""

    @property
    def is_answered(self) -> bool:
        """Whether the service did what it was asked."""
        return self.answer is not NOT_ANSWERED and not isinstance(self.answer, BaseException)


class KeyInputs:
    """What each key came with, over all lives. The promise: with one input."""

    def __init__(self) -> None:
        self.broken: list[str] = []
        """Keys that came with two."""
        self._first: dict[str, tuple[str, bytes]] = {}

    def note(self, key: str, step: str, payload: bytes) -> None:
        """A call arrived at a service."""
        first = self._first.setdefault(key, (step, payload))
        if first != (step, payload):
            was, now = (f"{name}({text_of(data)})" for name, data in (first, (step, payload)))
            self.broken.append(f"key {key} came with two inputs: {was} and {now}\n{HINT}")


class Stub:
    """Stands in for one step function in every life. `Simulator.stub` makes it."""

    def __init__(
        self,
        world: World,
        spec: StepSpec,
        function: Callable[..., Any],
        *,
        varies: bool,
        inputs: KeyInputs | None = None,
    ) -> None:
        self.calls: list[StubCall] = []
        """Every call that reached the service, in order."""
        self.name = spec.name
        self._world = world
        self._spec = spec
        self._function = function
        self._varies = varies
        self._inputs = inputs or KeyInputs()
        self._remembered: dict[str, Any] = {}
        self.stand_in: Callable[..., Any] = self._call_async if spec.is_async else self._call

    def __repr__(self) -> str:
        return f"<stub of {self.name}, called {len(self.calls)} times>"

    def effects(self) -> list[StubCall]:
        """Return the first answered call of each key: what happened, not what was asked for."""
        first: dict[str, StubCall] = {}
        for call in self.calls:
            if call.is_answered:
                first.setdefault(call.key, call)
        return list(first.values())

    async def _call_async(self, *args: Any, **kwargs: Any) -> Any:
        loop = asyncio.get_running_loop()
        try:
            return await self._serve(*args, **kwargs)
        except PowerLost:
            # Nobody is there to take it for the step's failure; the process is buried soon.
            return await loop.create_future()

    async def _serve(self, *args: Any, **kwargs: Any) -> Any:
        arrived = _Arrived(self._process(), self._spec, args, kwargs)
        call = self._note(arrived)
        answer = self._known(call)
        if answer is _MISSING:
            try:
                answer = arrived.call(self._function)
                if inspect.isawaitable(answer):
                    answer = await answer
            except Exception as error:
                here = _failed(arrived, call, error)
                if here is not error:
                    raise here from None
                raise
        return self._answered(arrived, call, answer)

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        arrived = _Arrived(self._process(), self._spec, args, kwargs)
        call = self._note(arrived)
        answer = self._known(call)
        if answer is _MISSING:
            try:
                answer = arrived.call(self._function)
            except Exception as error:
                here = _failed(arrived, call, error)
                if here is not error:
                    raise here from None
                raise
        return self._answered(arrived, call, answer)

    def _process(self) -> Process:
        process = self._world.process
        if process is None or not process.is_alive:
            raise PowerLost
        process.point("before-call")
        return process

    def _note(self, arrived: _Arrived) -> StubCall:
        step = arrived.step
        if not step.op.read_only:  # Those may be asked again with another input.
            self._inputs.note(step.key, self.name, arrived.payload)
        life, world = arrived.process.number, self._world
        world.trace.add(world.now_us, "call", step.key, self.name, text_of(arrived.payload)[:80])
        call = StubCall(step.key, arrived.args, arrived.kwargs, step.attempt, life)
        self.calls.append(call)
        return call

    def _known(self, call: StubCall) -> Any:
        return _MISSING if self._varies else self._remembered.get(call.key, _MISSING)

    def _answered(self, arrived: _Arrived, call: StubCall, answer: Any) -> Any:
        self._remembered[call.key] = answer
        object.__setattr__(call, "answer", answer)
        arrived.process.point("after-call")
        return arrived.result(answer)


class _Arrived:
    """A call at the service: its input, as the test's classes and as the caller's."""

    def __init__(
        self, process: Process, spec: StepSpec, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.process = process
        self.step = cast("Attempt", current_step())
        self._theirs = self.step.op.spec
        self._ours = spec
        registry = process.registry
        self._modules = registry.modules if isinstance(registry, ColdRegistry) else None
        self.payload = self._theirs.signature.encode_call(args, kwargs)
        self._is_foreign = self._modules is not None and self._theirs.fn is not spec.fn
        if self._is_foreign:
            args, kwargs = spec.signature.decode_call(self.payload)
        self.args = args
        self.kwargs = kwargs

    def call(self, function: Callable[..., Any]) -> Any:
        """Call a function of the test."""
        if self._modules is not None:
            return self._modules.outside(function, *self.args, **self.kwargs)
        return function(*self.args, **self.kwargs)

    def result(self, answer: Any) -> Any:
        """Return an answer as the caller's classes."""
        if not self._is_foreign:
            return answer
        return self._theirs.result.decode(self._ours.result.encode(answer))


def _failed(arrived: _Arrived, call: StubCall, error: Exception) -> BaseException:
    """Log what the service raised; return it as the caller's class."""
    object.__setattr__(call, "answer", error)
    arrived.process.point("after-call")
    return as_here(error)
