"""`Op`: the handle of one operation, numbered when it was called, awaited when you like."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable
from contextvars import Context as VarContext
from contextvars import copy_context
from typing import Any, TypeVar

from fusee.base.errors import DecodeError
from fusee.engine.program import UNDECODED, Arrival
from fusee.loop.tasks import WorkflowFuture
from fusee.loop.workflow_loop import WorkflowLoop
from fusee.record.failure import decode_failure
from fusee.record.kinds import OpKind, Outcome
from fusee.record.payload import Codec
from fusee.sdk.retry import Retry
from fusee.sdk.step import StepSpec

T = TypeVar("T")

_future_init = Future.__init__

NO_DEFAULT: Any = object()
"""A wait without default: its timeout raises."""


class Op(WorkflowFuture[T]):
    """One operation of a run. A Future: `await`, `gather`, `wait` and `shield` take it."""

    kind: OpKind
    position: int
    name: str
    codec: Codec
    due_us = 0
    read_only = False
    cancel_requested = False
    default: Any = NO_DEFAULT
    on_cancel: Callable[[Any], None] | None = None
    _true_outcome: WorkflowFuture[T] | None = None
    _late: tuple[bool, Any] | None = None

    def cancel(self, msg: Any | None = None) -> bool:
        """Ask for cancellation: awaiters get CancelledError now.

        An effectful step that runs is asked to stop; how it really ended is `outcome()`.
        """
        if not super().cancel(msg):
            return False
        self.cancel_requested = True
        if self.on_cancel is not None:
            self.on_cancel(self)
        return True

    async def outcome(self) -> T:
        """Return what a cancelled effectful step really did: its value, or its exception.

        Raises the step's own exception, or `StepCancelled` when its function did not finish.
        """
        if not self.cancelled():
            return await self
        if self._true_outcome is None:
            self._true_outcome = WorkflowFuture(self.get_loop())
            if self._late is not None:
                self._settle(self._true_outcome, *self._late)
        return await self._true_outcome

    def arrive(self, arrival: Arrival) -> None:
        """The operation has its outcome. Raises `DecodeError` when a recorded one does not fit."""
        failed = arrival.outcome is Outcome.FAILURE
        value = arrival.value
        if value is UNDECODED:
            value = self._decode(arrival)
        elif arrival.outcome is Outcome.TIMED_OUT:
            value = None
        if arrival.outcome is Outcome.TIMED_OUT and self.default is NO_DEFAULT:
            failed, value = True, TimeoutError(f"no signal '{self.name}' came in time")
        if not self.cancelled():
            if failed:
                self.set_exception(value)
            else:
                self.set_result(value)
        elif self._true_outcome is not None:
            self._settle(self._true_outcome, failed, value)
        else:
            self._late = (failed, value)

    def _decode(self, arrival: Arrival) -> Any:
        match arrival.outcome:
            case Outcome.FAILURE:
                return decode_failure(arrival.payload)
            case Outcome.TIMED_OUT:
                return self.default
            case Outcome.VALUE | Outcome.SIGNAL:
                if self.kind is OpKind.SLEEP:
                    return None
                return self.codec.decode(arrival.payload)

    @staticmethod
    def _settle(future: WorkflowFuture[Any], failed: bool, value: Any) -> None:
        if failed:
            future.set_exception(value)
        else:
            future.set_result(value)


class StepOp(Op[T]):
    """An operation that runs a step function."""

    kind = OpKind.STEP
    retry: Retry | None
    timeout_s: float | None

    def __init__(
        self,
        loop: WorkflowLoop,
        position: int,
        name: str,
        spec: StepSpec,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        # As WorkflowFuture does it: a call of its constructor would cost as much as the rest.
        self.number = loop.created = loop.created + 1
        _future_init(self, loop=loop)
        self.position = position
        self.name = name
        self.spec = spec
        self.codec = spec.result
        self.args = args
        self.kwargs = kwargs
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


def done_op(loop: WorkflowLoop, value: Any) -> Op[Any]:
    """Return an operation that has its value already."""
    op: Op[Any] = Op(loop)
    op.set_result(value)
    return op


__all__ = ["NO_DEFAULT", "DecodeError", "Op", "StepOp", "TimerOp", "done_op"]
