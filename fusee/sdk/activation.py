"""One loaded run: its code on its own deterministic loop, turned by the engine.

The engine calls `begin` and `deliver`; the code calls operations, which are numbered and
compared by the journal machine and left in `pending` for the engine to set in motion.
Nothing here starts anything by itself.
"""

from __future__ import annotations

from asyncio import _get_running_loop, _set_running_loop
from collections.abc import Callable
from contextvars import Context as VarContext
from traceback import format_exception
from typing import TYPE_CHECKING, Any

from fusee.base.errors import (
    CodeError,
    DecodeError,
    FuseeError,
    ReadOnlyViolation,
    StepCancelled,
)
from fusee.engine.program import UNDECODED, Arrival, Ending, PendingOp
from fusee.journal.texts import Called, operation_text
from fusee.loop.evict import Evicted
from fusee.loop.host import GONE
from fusee.loop.workflow_loop import WorkflowLoop
from fusee.record.failure import encode_failure
from fusee.record.kinds import SCHEDULED_READ_ONLY, Completed, OpKind, Outcome, Status
from fusee.sdk.context import Context, RunIdentity
from fusee.sdk.draws import Draws
from fusee.sdk.messages import Signal
from fusee.sdk.op import Op, StepOp, TimerOp
from fusee.sdk.queries import Queries
from fusee.sdk.runlog import RunLog
from fusee.sdk.source import call_site, definition_site, rest_site
from fusee.sdk.step import NO_OPTIONS

if TYPE_CHECKING:
    from fusee.journal.machine import Machine
    from fusee.sdk.step import StepOptions, StepSpec
    from fusee.sdk.workflow import Workflow

Stage = Callable[[int, str, str, bytes], None]
AnyOp = Op[Any] | TimerOp
VALUE = Outcome.VALUE
PARKED = -1
"""Instead of a position: the operation of a run that leaves memory."""
STEP = OpKind.STEP


class Activation:
    """The code of one run in memory. Implements `engine.program.Program`."""

    def __init__(
        self,
        workflow: Workflow[Any, Any],
        machine: Machine,
        input_payload: bytes,
        *,
        stage: Stage,
        entropy: Callable[[int], bytes],
        now_us: Callable[[], int],
    ) -> None:
        facts = machine.facts
        self.machine = machine
        machine.locate = call_site
        self.ending: Ending | None = None
        self.loop = WorkflowLoop(self)
        self.run_log = RunLog(f"{facts.workflow_id}/{facts.ordinal}", self._is_mute)
        self.said = self.run_log.lines
        """Log lines since the last `take_said`: one list, looked at after every turn."""
        self._workflow = workflow
        self._input = input_payload
        self._stage = stage
        self.draws = Draws(self, entropy, now_us)
        self.pending: dict[int, AnyOp] = {}
        """Operations without an outcome, by position."""
        self.called: list[AnyOp] = []
        self.cancelled: list[PendingOp] = []
        self._main: Any = None
        # Empty: what the application's context holds differs between the first life and a replay.
        self._variables = VarContext()
        self.queries = Queries(self.loop, self._variables)

    # ------------------------------------------------------------ driven by the engine

    def begin(self) -> None:
        """Run the code from its first line until it waits for something."""
        facts = self.machine.facts
        identity = RunIdentity(facts.workflow_id, facts.ordinal, facts.workflow, facts.version)
        try:
            args, kwargs = self._workflow.signature.decode_call(self._input)
        except DecodeError as error:
            self.machine.mismatch = error
            return
        coroutine = self._workflow.fn(Context(self, identity), *args, **kwargs)
        self._main = self.loop.create_task(coroutine, name=facts.workflow, context=self._variables)
        self._turn()

    def deliver(self, arrival: Arrival) -> None:
        """Hand over one outcome and run the code until it waits again."""
        op = self.pending.pop(arrival.position, None)
        if op is None:
            self.machine.unexpected(arrival.position)
            return
        value = arrival.value
        if (
            value is not UNDECODED
            and arrival.outcome is VALUE
            and isinstance(op, Op)
            and not op.cancel_requested
        ):
            op.set_result(value)
        elif not self._arrive(op, arrival):
            return
        self.loop.turn()
        if self._main.done() and self.ending is None:
            self._end(self._main)
            self.loop.forget_done()
        if self.loop.errors:
            self._tell_errors()

    def _arrive(self, op: AnyOp, arrival: Arrival) -> bool:
        """Settle an operation from its record; False when the record does not fit the code."""
        try:
            op.arrive(arrival)
        except DecodeError as error:
            self.machine.mismatch = DecodeError(
                f"the journal recorded a result of {operation_text(op.kind, op.name)} that no "
                f"longer fits: {error}"
            )
            return False
        return True

    def _turn(self) -> None:
        self.loop.turn()
        if self.ending is None and self._main.done():
            self._end(self._main)
            self.loop.forget_done()
        if self.loop.errors:
            self._tell_errors()

    def _end(self, main: Any) -> None:
        """The main task is done: what the run's last record will say."""
        error: BaseException | None
        if main.cancelled():
            text = "the workflow cancelled its own task though nobody asked the run to stop"
            error = StepCancelled(text, spontaneous=True)
        else:
            error = main.exception()
        if error is None:
            try:
                payload = self._workflow.signature.result_codec.encode(main.result())
            except FuseeError as refused:
                error = refused
            else:
                self.ending = Ending(Status.COMPLETED, payload, Called("returned", ""))
                return
        if isinstance(error, Evicted):
            return
        called = Called("raised", repr(error), rest_site(error))
        hold = self._workflow.hold_reason(error)
        self.ending = Ending(Status.FAILED, encode_failure(error), called, hold)

    def rest(self) -> Called:
        """Say what the code does now: waits for what, returned, or raised what."""
        if self.ending is not None:
            called = self.ending.called
            return called if called.source else called.at(definition_site(self._workflow.fn))
        what = "waiting"
        if self.pending:
            op = self.pending[min(self.pending)]
            text = operation_text(op.kind, op.name)
            what = f"waiting for {text.removeprefix('wait for ')}"
        return Called("is", what, rest_site(self._main))

    def take_cancelled(self) -> list[PendingOp]:
        """Return `cancelled` and begin a new list."""
        cancelled, self.cancelled = self.cancelled, []
        return cancelled

    def take_said(self) -> list[tuple[int, str]]:
        """Return what was said, and forget it."""
        return self.run_log.take()

    def _tell_errors(self) -> None:
        """Errors that nobody awaited become lines of the run's log."""
        for context in self.loop.take_errors():
            error = context.get("exception")
            trace = "".join(format_exception(error)) if error is not None else ""
            self.run_log.error("%s", f"{context.get('message')}\n{trace}".rstrip())

    def query(self, name: str, payload: bytes) -> bytes:
        """Answer a query from the code's present state."""
        return self.queries.answer(self._workflow.name, name, payload)

    @property
    def spoiled(self) -> bool:
        """Whether a query handler has changed the state that it was to read."""
        return self.queries.spoiled

    def evict(self) -> list[str]:
        """Unwind the code without running any of its effects; return names that refused."""
        self.queries.clear()
        if self.loop.is_running():
            # The run's own turn has just ended and left its loop current for the next one.
            _set_running_loop(None)
        refused = self.loop.evict()
        # Nothing of an evicted run may keep the rest of it alive until a cycle is collected.
        self.loop.host = GONE
        self.run_log.close()
        self.draws.close()
        self._main = None
        self.pending.clear()
        self.called.clear()
        self.cancelled.clear()
        return refused

    # ------------------------------------------------------------ LoopHost: asyncio's timers

    def now_us(self) -> int:
        """Return the recorded time of the current turn."""
        return self.machine.now_us

    def start_timer(self, due_us: int, fire: Callable[[], None], name: str) -> int:
        """A durable timer for `asyncio.sleep`, `timeout`, `call_later`."""
        position = self._schedule(OpKind.SLEEP, name, b"", due_us)
        op = TimerOp(position, self.machine.recorded_due_us(position) or due_us, name, fire)
        self._add(op)
        return position

    def cancel_timer(self, position: int) -> None:
        """The code cancelled a timer: it is gone, without a record."""
        op = self.pending.pop(position, None)
        if op is not None:
            op.cancel_requested = True
            self.cancelled.append(op)  # pyright: ignore[reportArgumentType]

    # ------------------------------------------------------------ called by the code

    def call_step(
        self,
        spec: StepSpec,
        name: str | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        options: StepOptions,
    ) -> Op[Any]:
        """Number a step; it runs when the engine opens its gate."""
        if name is None:
            name = options.name or spec.name
        data, args, kwargs = spec.signature.snapshot_call(args, kwargs)
        if options is NO_OPTIONS:
            read_only = spec.read_only
        else:
            read_only = spec.read_only if options.read_only is None else options.read_only
        position = self._schedule(STEP, name, data, 0, SCHEDULED_READ_ONLY if read_only else 0)
        op: StepOp[Any] = StepOp(self, position, name, spec, args, kwargs)
        if options is not NO_OPTIONS:
            op.read_only = read_only
            op.retry = options.retry or spec.retry
            op.timeout_s = options.timeout_s or spec.timeout_s
        self.pending[position] = op
        self.called.append(op)
        return op

    def call_sleep(self, duration_us: int, name: str) -> Op[None]:
        """Number a sleep, counted from the time of the turn; none at all only lets others run."""
        if duration_us == 0:
            return self._call_yield(name)
        return self.call_sleep_until(self.machine.now_us + duration_us, name)

    def _call_yield(self, name: str) -> Op[None]:
        """Return an operation that ends within the turn: nothing to number, nothing to record."""
        self._check_may_call("sleep")
        op: Op[None] = Op(self, OpKind.SLEEP, PARKED, name)
        if not self.loop.evicting and self.machine.mismatch is None:
            self.loop.call_soon(op.yielded)
        return op

    def call_sleep_until(self, due_us: int, name: str) -> Op[None]:
        """Number a sleep until an instant."""
        position = self._schedule(OpKind.SLEEP, name, b"", due_us)
        due_us = self.machine.recorded_due_us(position) or due_us
        op: Op[None] = Op(self, OpKind.SLEEP, position, name, None, due_us)
        self._add(op)
        return op

    def call_wait(self, signal: Signal[Any], timeout_us: int | None, default: Any) -> Op[Any]:
        """Number a wait for a signal."""
        due_us = 0 if timeout_us is None else self.machine.now_us + timeout_us
        position = self._schedule(OpKind.WAIT, signal.name, b"", due_us)
        due_us = self.machine.recorded_due_us(position) or due_us
        op: Op[Any] = Op(self, OpKind.WAIT, position, signal.name, signal.codec, due_us, default)
        self._add(op)
        return op

    def call_message(self, target_id: str, name: str, payload: bytes) -> Op[None]:
        """Number a message to another run; its outcome is known at once."""
        position = self._schedule(OpKind.MESSAGE, f"{name} to {target_id}", payload, 0)
        op: Op[None] = Op(self, OpKind.MESSAGE, position, name)
        if position == PARKED:
            return op
        recorded = self.machine.recorded_immediate(position)
        if recorded is None:
            outcome, failure = Outcome.VALUE, b""
            try:
                self._stage(position, target_id, name, payload)
            except FuseeError as error:
                outcome, failure = Outcome.FAILURE, encode_failure(error)
            recorded = Completed(position, outcome, self.machine.now_us, failure)
            self.machine.out.append(recorded)
        if recorded.outcome == Outcome.VALUE:
            op.set_result(None)
        else:
            op.arrive(Arrival(position, Outcome.FAILURE, recorded.payload))
        return op

    # ------------------------------------------------------------ inside

    def _is_mute(self) -> bool:
        return self.machine.replaying or self.loop.evicting

    def _check_may_call(self, what: str) -> None:
        """Raise unless code of this run is running and may have effects.

        Returns for code that leaves memory and calls again for ever: it gets an operation that
        never has an outcome.
        """
        if self.loop.evicting or self.machine.mismatch is not None:
            self.loop.evicted_call()
            return
        if self.queries.answering:
            raise ReadOnlyViolation(f"{what} in a query handler: a query reads, it changes nothing")
        if _get_running_loop() is not self.loop:
            raise CodeError(
                f"{what} outside of workflow code: ctx belongs to its workflow; a step function "
                "takes values and returns one"
            )

    def _schedule(self, op: OpKind, name: str, data: bytes, due_us: int, flags: int = 0) -> int:
        machine = self.machine
        if (
            _get_running_loop() is not self.loop
            or self.queries.answering
            or self.loop.evicting
            or machine.mismatch is not None
        ):
            self._check_may_call(operation_text(op, name))
            return PARKED
        position = machine.schedule(op, name, data, due_us, flags)
        if position is None:
            raise Evicted
        return position

    def draw(self, op: OpKind, fresh: bytes) -> bytes:
        """Number a drawn value; return it, or on replay the recorded one."""
        self._check_may_call(operation_text(op, ""))
        if self.loop.evicting or self.machine.mismatch is not None:
            raise Evicted
        value = self.machine.draw(op, fresh)
        if value is None:
            raise Evicted
        return value

    def _add(self, op: AnyOp) -> None:
        self.pending[op.position] = op
        self.called.append(op)

    def op_cancelled(self, op: Op[Any]) -> None:
        """The code cancelled an operation. Only a step with effects still has an outcome."""
        if self.pending.get(op.position) is not op:
            return
        if op.kind is not OpKind.STEP or op.read_only:
            del self.pending[op.position]
        self.cancelled.append(op)  # pyright: ignore[reportArgumentType]
