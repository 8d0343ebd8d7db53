"""What every call of a step passes in a simulated process, whoever answers it.

    before-call    the process may die here
                   the call is logged, and what its key came with is compared
                   a stub answers, or the step's own function
    after-call     the answer is there, and nobody was told; the process may die here

The log is kept outside of all processes, as a real service keeps it. A call of a dead process
does not arrive: it is not logged, and nothing comes of it.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from fusee.base.errors import PayloadError
from fusee.engine.views import text_of
from fusee.sdk.current import current_step
from fusee.sdk.step import spec_of
from fusee.testing.cold import ColdRegistry, as_here
from fusee.testing.device import PowerLost
from fusee.testing.stubs import StubCall

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from fusee.io.attempt import Attempt
    from fusee.sdk.step import StepSpec
    from fusee.testing.cold import Modules
    from fusee.testing.process import Process
    from fusee.testing.stubs import Stub

HINT: Final = (
    "  hint: after a crash the code called the step again, with a value that no journal holds, "
    "such as one of a global, random or datetime.now(); take it from a step, or from ctx"
)
"""What it is when the engine is not at fault."""


class KeyInputs:
    """What each key came with, over all lives. The promise: with one input."""

    def __init__(self) -> None:
        self.broken: list[str] = []
        """Keys that came with two."""
        self._first: dict[str, tuple[str, bytes]] = {}

    def note(self, key: str, step: str, payload: bytes) -> None:
        """A call has arrived."""
        first = self._first.setdefault(key, (step, payload))
        if first != (step, payload):
            was, now = (f"{name}({text_of(data)})" for name, data in (first, (step, payload)))
            self.broken.append(f"key {key} came with two inputs: {was} and {now}\n{HINT}")


class Calls:
    """The calls of all steps in all lives."""

    def __init__(self) -> None:
        self.made: list[StubCall] = []
        """Every call that arrived, in order."""
        self.inputs = KeyInputs()
        self.stubs: dict[str, Stub] = {}
        """By the name of the step."""

    def function_of(self, process: Process, spec: StepSpec) -> Callable[..., Any]:
        """Return what a process calls for a step."""
        passing = self._pass_async if spec.is_async else self._pass
        return partial(passing, process, spec)

    async def _pass_async(
        self, process: Process, spec: StepSpec, /, *args: Any, **kwargs: Any
    ) -> Any:
        loop = asyncio.get_running_loop()
        try:
            arrived = self._arrive(process, spec, args, kwargs)
            return await arrived.rest(arrived.ask())
        except PowerLost:
            # Nobody is there to take it for the step's failure; the process is buried soon.
            return await loop.create_future()

    def _pass(self, process: Process, spec: StepSpec, /, *args: Any, **kwargs: Any) -> Any:
        arrived = self._arrive(process, spec, args, kwargs)
        answer = arrived.ask()
        return _Rest(arrived, answer) if inspect.isawaitable(answer) else arrived.answered(answer)

    def _arrive(
        self, process: Process, spec: StepSpec, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> _Arrived:
        process.point("before-call")
        stub = self.stubs.get(spec.name)
        arrived = _Arrived(process, stub, args, kwargs)
        step, call, world = arrived.step, arrived.call, process.world
        if not step.op.read_only:  # Those may be asked again with another input.
            self.inputs.note(step.key, spec.name, arrived.payload)
        world.trace.add(world.now_us, "call", step.key, spec.name, text_of(arrived.payload)[:80])
        self.made.append(call)
        if stub is not None:
            stub.calls.append(call)
        return arrived


class _Arrived:
    """A call that has arrived: its input, as the test's classes and as the caller's."""

    def __init__(
        self, process: Process, stub: Stub | None, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.process = process
        self.step = cast("Attempt", current_step())
        self._stub = stub
        self._theirs = theirs = self.step.op.spec
        self._args, self._kwargs = args, kwargs
        registry = process.registry
        self._modules = registry.modules if isinstance(registry, ColdRegistry) else None
        self._ours = _ours(theirs, self._modules) if stub is None else stub.spec
        self.payload = theirs.signature.encode_call(args, kwargs)
        self._is_foreign = self._modules is not None and theirs.fn is not self._ours.fn
        if self._is_foreign:
            args, kwargs = self._ours.signature.decode_call(self.payload)
        step = self.step
        self.call = StubCall(step.key, theirs.name, args, kwargs, step.attempt, process.number)

    def ask(self) -> Any:
        """Ask the stub, or the step's own function; what it returns may have to be awaited."""
        try:
            if self._stub is None:
                return self._theirs.fn(*self._args, **self._kwargs)
            return self._stub.ask(self.call, self._modules)
        except Exception as error:
            self._raised(error)
            raise

    async def rest(self, answer: Any) -> Any:
        """Await what the function has returned, if it is to be awaited."""
        if inspect.isawaitable(answer):
            try:
                answer = await answer
            except Exception as error:
                self._raised(error)
                raise
        return self.answered(answer)

    def answered(self, answer: Any) -> Any:
        """Log an answer; return it as the caller's classes."""
        if self._stub is None:
            self._log(self._as_here(answer))
        else:
            self._stub.remember(self.call, answer)
            self._log(answer)
        self.process.point("after-call")
        if self._stub is None or not self._is_foreign:
            return answer
        return self._theirs.result.decode(self._ours.result.encode(answer))

    def _raised(self, error: Exception) -> None:
        """Log what was raised, as the test's class; raise it as the caller's, if that differs."""
        own = self._stub is None
        there = self._modules.outside(as_here, error) if own and self._modules else error
        self._log(there)
        self.process.point("after-call")
        here = error if own else as_here(error)
        if here is not error:
            raise here from None

    def _log(self, answer: Any) -> None:
        object.__setattr__(self.call, "answer", answer)

    def _as_here(self, answer: Any) -> Any:
        """Return what the step's own function returned as the test's classes."""
        if not self._is_foreign:
            return answer
        try:
            return self._ours.result.decode(self._theirs.result.encode(answer))
        except PayloadError:
            return answer  # The engine is about to say so.


class _Rest:
    """What a synchronous function returned, to be awaited: its answer comes after that."""

    def __init__(self, arrived: _Arrived, answer: Awaitable[Any]) -> None:
        self._arrived = arrived
        self._answer = answer
        # The process may die before its loop hears of what was returned.
        arrived.process.loose[self] = self.close

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._wait().__await__()

    async def _wait(self) -> Any:
        loop = asyncio.get_running_loop()
        self._arrived.process.loose.pop(self, None)
        try:
            return await self._arrived.rest(self._answer)
        except PowerLost:
            return await loop.create_future()  # As in `Calls`.

    def close(self) -> None:
        """Let it be: nobody will await it."""
        self._arrived.process.loose.pop(self, None)
        close: Any = getattr(self._answer, "close", None)
        if close is not None:
            close()


def _ours(theirs: StepSpec, modules: Modules | None) -> StepSpec:
    """Return the step as the test knows it, whose process may have a copy of its own."""
    found = None if modules is None else modules.outside(_same_here, theirs.fn)
    return theirs if found is None else spec_of(found)


def _same_here(function: Any) -> Any:
    """Return what has a function's place in its module as it is now, None if nothing has."""
    found: Any = sys.modules.get(getattr(function, "__module__", None) or "")
    for name in (getattr(function, "__qualname__", None) or "<unknown>").split("."):
        found = getattr(found, name, None)
    return found if inspect.isfunction(found) else None
