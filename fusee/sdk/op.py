"""`Op`: the handle of one operation, numbered when it was called, awaited when you like."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable
from contextvars import Context as VarContext
from contextvars import copy_context
from typing import Any, Protocol, TypeVar, cast

from fusee.engine.program import UNDECODED, Arrival
from fusee.loop.tasks import WorkflowFuture
from fusee.loop.workflow_loop import WorkflowLoop
from fusee.record.failure import decode_failure
from fusee.record.kinds import OpKind, Outcome
from fusee.record.payload import Codec
from fusee.sdk.retry import Retry
from fusee.sdk.step import StepSpec

T = TypeVar("T")

_future_init = cast("Any", Future).__init__
STEP = OpKind.STEP

NO_DEFAULT: Any = object()
"""A wait without default: its timeout raises."""


class OpOwner(Protocol):
    """The loaded run an operation belongs to."""

    loop: WorkflowLoop

    def op_cancelled(self, op: Op[Any]) -> None:
        """The code has cancelled an operation."""
        ...


class Op(WorkflowFuture[T]):
    """One operation of a run. A Future: `await`, `gather`, `wait` and `shield` take it."""

    __slots__ = (
        "_late",
        "_waiters",
        "cancel_requested",
        "codec",
        "default",
        "due_us",
        "kind",
        "name",
        "owner",
        "position",
        "read_only",
    )

    def __init__(
        self,
        owner: OpOwner,
        kind: OpKind,
        position: int,
        name: str,
        codec: Codec | None = None,
        due_us: int = 0,
        default: Any = NO_DEFAULT,
    ) -> None:
        super().__init__(owner.loop)
        self.owner = owner
        self.kind = kind
        self.position = position
        self.name = name
        self.codec = codec
        self.due_us = due_us
        self.default = default
        self.read_only = False
        self.cancel_requested = False
        self._waiters: tuple[WorkflowFuture[None], ...] = ()
        self._late: tuple[bool, Any] | None = None

    def cancel(self, msg: Any | None = None) -> bool:
        """Ask for cancellation: awaiters get CancelledError now.

        An effectful step that runs is asked to stop; how it really ended is `outcome()`.
        """
        if not super().cancel(msg):
            return False
        self.cancel_requested = True
        self.owner.op_cancelled(self)
        return True

    def yielded(self) -> None:
        """A sleep of no time is over, unless the code has cancelled it."""
        if not self.done():
            self.set_result(cast("Any", None))

    async def outcome(self) -> T:
        """Return what a cancelled effectful step really did: its value, or its exception.

        Raises the step's own exception, or `StepCancelled` when its function did not finish.
        """
        if not self.cancelled():
            return await self
        if self._late is None:
            # A future for each who waits: one that gives up takes nothing from the others.
            waiter: WorkflowFuture[None] = WorkflowFuture(self.owner.loop)
            self._waiters = (*self._waiters, waiter)
            await waiter
        assert self._late is not None, "waiters are woken by the outcome"
        failed, value = self._late
        if failed:
            raise value
        result: T = value
        return result

    def arrive(self, arrival: Arrival) -> None:
        """The operation has its outcome. Raises `DecodeError` when a recorded one does not fit."""
        failed, value = self._read(arrival)
        if not self.cancelled():
            if failed:
                self.set_exception(value)
            else:
                self.set_result(value)
            return
        self._late = (failed, value)
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _read(self, arrival: Arrival) -> tuple[bool, Any]:
        """Return whether the outcome is an exception, and the exception or value."""
        if arrival.outcome is Outcome.TIMED_OUT:
            if self.default is NO_DEFAULT:
                return True, TimeoutError(f"no signal '{self.name}' came in time")
            return False, self.default
        failed = arrival.outcome is Outcome.FAILURE
        if arrival.value is not UNDECODED:
            return failed, arrival.value
        if failed:
            return True, decode_failure(arrival.payload)
        return False, None if self.codec is None else self.codec.decode(arrival.payload)


class StepOp(Op[T]):
    """An operation that runs a step function."""

    __slots__ = ("args", "kwargs", "retry", "spec", "timeout_s", "variables")

    def __init__(
        self,
        owner: OpOwner,
        position: int,
        name: str,
        spec: StepSpec,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        # As the constructors above do it: their calls would cost as much as all the rest.
        loop = owner.loop
        self.number = loop.created = loop.created + 1
        _future_init(self, loop=loop)
        self.owner = owner
        self.kind = STEP
        self.position = position
        self.name = name
        self.spec = spec
        self.codec = spec.result
        self.args = args
        self.kwargs = kwargs
        self.retry: Retry | None = spec.retry
        self.timeout_s: float | None = spec.timeout_s
        self.read_only = spec.read_only
        self.due_us = 0
        self.cancel_requested = False
        self._waiters = ()
        self._late = None
        self.variables: VarContext = copy_context()


class TimerOp:
    """A durable timer that asyncio asked for: `asyncio.sleep`, `timeout`, `call_later`."""

    __slots__ = ("cancel_requested", "due_us", "fire", "name", "position")

    kind = OpKind.SLEEP
    read_only = False

    def __init__(self, position: int, due_us: int, name: str, fire: Callable[[], None]) -> None:
        self.position = position
        self.due_us = due_us
        self.name = name
        self.fire = fire
        self.cancel_requested = False

    def arrive(self, arrival: Arrival) -> None:
        """The time has come."""
        assert arrival.outcome is Outcome.VALUE, "a timer brings nothing but its time"
        self.fire()
