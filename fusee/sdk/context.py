"""`Context`: what workflow code calls. Every operation is numbered when it is called."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime
from random import Random
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

import msgspec

from fusee.base.durations import instant, instant_us, to_us
from fusee.base.names import check_id, check_name
from fusee.sdk.messages import Query, Receiving, Sending, query_of, signal_of
from fusee.sdk.op import NO_DEFAULT, Op
from fusee.sdk.retry import Duration, Retry
from fusee.sdk.step import NO_OPTIONS, SPEC, StepOptions, make_options, spec_of

if TYPE_CHECKING:
    from fusee.sdk.activation import Activation
    from fusee.sdk.runlog import RunLog

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
D = TypeVar("D")
I = TypeVar("I")  # noqa: E741 - input, as in the documentation
O = TypeVar("O")  # noqa: E741 - output


class RunIdentity(msgspec.Struct, frozen=True):
    """Who a run is, for its own code."""

    id: str
    ordinal: int
    workflow: str
    version: str


class Context:
    """The workflow's side of the engine. One per run; `options` returns variants of it."""

    __slots__ = ("_activation", "_options", "info")

    def __init__(
        self, activation: Activation, info: RunIdentity, options: StepOptions = NO_OPTIONS
    ) -> None:
        self._activation = activation
        self._options = options
        self.info = info

    # ------------------------------------------------------------ steps

    @overload
    def step(
        self, fn: Callable[P, Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs
    ) -> Op[R]: ...
    @overload
    def step(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Op[R]: ...
    @overload
    def step(
        self, name: str, fn: Callable[P, Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs
    ) -> Op[R]: ...
    @overload
    def step(
        self, name: str, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs
    ) -> Op[R]: ...
    def step(self, fn: Any, /, *args: Any, **kwargs: Any) -> Op[Any]:
        """Run a function durably: `ctx.step(charge, quote)` or `ctx.step("charge", pay, quote)`.

        Numbered now. The function runs when everything before it is durable (read-only
        steps at once); its result is durable before any later step's function runs.
        """
        name = None
        if type(fn) is str:
            if not args:
                raise TypeError(f"ctx.step({fn!r}): the function is missing after the name")
            name, fn, args = check_name(fn, what="step name"), args[0], args[1:]
        spec = getattr(fn, SPEC, None)
        if spec is None or spec.fn is not fn:
            spec = spec_of(fn)
        return self._activation.call_step(spec, name, args, kwargs, self._options)

    def options(
        self,
        *,
        name: str | None = None,
        retry: Retry | None = None,
        timeout: Duration | None = None,
        read_only: bool | None = None,
    ) -> Context:
        """Return a context whose steps have these options; see `fusee.step`."""
        options = make_options(name, retry, timeout, read_only).over(self._options)
        return Context(self._activation, self.info, options)

    # ------------------------------------------------------------ time

    def sleep(self, duration: Duration, *, name: str = "") -> Op[None]:
        """Sleep durably: "10m", a timedelta or seconds.

        0, and anything negative, lets the run's other tasks go on and records nothing.
        """
        return self._activation.call_sleep(to_us(duration), self._sleep_name(name))

    def sleep_until(self, instant: datetime, *, name: str = "") -> Op[None]:
        """Sleep until an aware datetime; one in the past is now."""
        # 0 stands for "no timer" in the journal.
        due_us = max(1, instant_us(instant))
        return self._activation.call_sleep_until(due_us, self._sleep_name(name))

    def _sleep_name(self, name: str) -> str:
        return check_name(name, what="name of a sleep") if name else self._options.name or ""

    def now(self) -> datetime:
        """Return the time, in UTC: journaled, never going back within a run."""
        return instant(self._activation.draws.now_us())

    # ------------------------------------------------------------ chance

    def random(self) -> float:
        """Return a journaled random number in [0, 1)."""
        return self._activation.draws.random()

    @property
    def rng(self) -> Random:
        """A `random.Random` of this run, seeded by one journaled draw at first use."""
        return self._activation.draws.rng()

    def uuid4(self) -> uuid.UUID:
        """Return a journaled random UUID."""
        return uuid.UUID(bytes=self._activation.draws.uuid())

    # ------------------------------------------------------------ messages

    @overload
    def wait_for(self, signal: Receiving[T], *, timeout: Duration | None = None) -> Op[T]: ...
    @overload
    def wait_for(
        self, signal: Receiving[T], *, timeout: Duration | None = None, default: D
    ) -> Op[T | D]: ...
    @overload
    def wait_for(
        self, signal: str, *, timeout: Duration | None = None, default: Any = ...
    ) -> Op[Any]: ...
    def wait_for(
        self,
        signal: Receiving[Any] | str,
        *,
        timeout: Duration | None = None,
        default: Any = NO_DEFAULT,
    ) -> Op[Any]:
        """Wait for the next signal of a name; the oldest waiter gets the oldest signal.

        When `timeout` passes first: `default` if given, else TimeoutError. The signal that
        comes later stays readable.
        """
        timeout_us = None if timeout is None else to_us(timeout)
        return self._activation.call_wait(signal_of(signal), timeout_us, default)

    @overload
    def signals(self, signal: Receiving[T]) -> AsyncIterator[T]: ...
    @overload
    def signals(self, signal: str) -> AsyncIterator[Any]: ...
    async def signals(self, signal: Receiving[Any] | str) -> AsyncIterator[Any]:
        """Iterate over signals of a name as they come. Leaving the loop loses nothing."""
        typed = signal_of(signal)
        while True:
            yield await self.wait_for(typed)

    def on_query(self, query: Query[I, O] | str) -> Callable[[Callable[..., O]], Callable[..., O]]:
        """Register the handler of a query; register before the first await to see every one."""

        def register(handler: Callable[..., O]) -> Callable[..., O]:
            self._activation.queries.register(query_of(query), handler)
            return handler

        return register

    def external(self, workflow_id: str) -> ExternalRun:
        """Return another run, to send it signals."""
        return ExternalRun(self._activation, check_id(workflow_id))

    @property
    def log(self) -> RunLog:
        """A logger whose lines appear once, when what they tell is durable; mute on replay."""
        return self._activation.run_log


class ExternalRun:
    """Another run of the same log, as workflow code sees it."""

    __slots__ = ("_activation", "id")

    def __init__(self, activation: Activation, workflow_id: str) -> None:
        self._activation = activation
        self.id = workflow_id

    @overload
    def signal(self, signal: Sending[None], /) -> Op[None]: ...
    @overload
    def signal(self, signal: Sending[T], value: T, /) -> Op[None]: ...
    @overload
    def signal(self, signal: str, value: Any = None, /) -> Op[None]: ...
    def signal(self, signal: Sending[Any] | str, value: Any = None, /) -> Op[None]:
        """Signal the run; durable together with this run's own record.

        Raises `RunNotFound`, `WorkflowFinished` or `Backlogged` when awaited.
        """
        typed = signal_of(signal)
        return self._activation.call_message(self.id, typed.name, typed.encode(value))
