"""Runs step functions: async ones as tasks of the application's loop, sync ones in threads.

Immediately before each call, in the same frame, it is checked that this node may still act.
An attempt is known by its token (the `Attempt` itself), so a late result of a timed-out
attempt is dropped. What the host cancels (Ctrl-C, shutdown) is not an outcome: the step
runs again after a restart (rule DR-3).

At most `async_steps` async functions and `sync_threads` threads run at a time; what is over
that waits here, each kind first come first served, as does everything while the node may not
act. What waits has not begun: a cancellation takes it back, and closing begins none of it.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from fusee.base.errors import (
    EncodeError,
    PayloadTooLarge,
    StepCancelled,
    StepTimeout,
)
from fusee.base.limits import PAYLOAD_BYTES_WARN
from fusee.engine.commitlog import CommitLog, Pressure
from fusee.engine.program import Arrival
from fusee.engine.steps import step_done, step_failed, step_lost
from fusee.io.attempt import Attempt, MayNotAct
from fusee.io.shell import Shell, enter, leave
from fusee.io.verdicts import failed_attempt, failure
from fusee.record.kinds import AttemptFailed, Outcome
from fusee.record.payload import large_payload
from fusee.sdk.current import CURRENT

if TYPE_CHECKING:
    from contextvars import Context as VarContext

    from fusee.engine.core import Core
    from fusee.engine.program import PendingOp
    from fusee.engine.run import Run
    from fusee.io.surroundings import Surroundings, Threads
    from fusee.sdk.op import StepOp

LOGGER = logging.getLogger("fusee")
_set_current = CURRENT.set


class StepRunner:
    """Implements `engine.program.Steps` on the application's event loop."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        threads: Threads,
        surroundings: Surroundings,
        *,
        async_steps: int,
        sync_steps: int,
        on_interrupt: Callable[[BaseException], None],
        on_bug: Callable[[BaseException], None],
    ) -> None:
        self._loop = loop
        self._threads = threads
        self._async_max = async_steps
        self._sync_max = sync_steps
        self._on_interrupt = on_interrupt
        self._on_bug = on_bug
        self._core: Core
        self._log: CommitLog
        self._random = surroundings.random
        self._function_of = surroundings.function_of
        self._monotonic_ns = surroundings.clock.monotonic_ns
        self._waiting_async: deque[Attempt] = deque()
        self._waiting_sync: deque[Attempt] = deque()
        self._attempts: dict[Attempt, None] = {}  # In the order in which they began.
        self._async_running = 0
        self._idle: asyncio.Future[None] | None = None
        self._shell = Shell(loop)
        self.closing = False

    def bind(self, core: Core) -> None:
        """Say whose steps these are."""
        self._core = core
        self._log = core.log

    @property
    def running(self) -> list[Attempt]:
        """Attempts whose function has started and not ended."""
        return list(self._attempts)

    # ------------------------------------------------------------ Steps

    def start(self, run: Run, op: PendingOp, attempt: int, first_started_us: int) -> None:
        """Start one attempt as soon as there is room."""
        token = Attempt(run, cast("StepOp[Any]", op), attempt, first_started_us)
        run.in_flight[op.position] = token
        if token.op.spec.is_async:
            if (
                self._waiting_async
                or self._async_running >= self._async_max
                or self._log.pressure is Pressure.STOP_STEPS
            ):
                self._waiting_async.append(token)
            else:
                self._begin_async(token)
        elif self._waiting_sync or not self._has_room(is_async=False):
            self._waiting_sync.append(token)
        else:
            self._begin_thread(token)

    def cancel(self, token: object) -> None:
        """Ask the function of an attempt to stop; its outcome still comes."""
        assert isinstance(token, Attempt), token
        token.cancel_requested = True
        token.cancelled = True
        if token.task is not None:
            token.task.cancel()
            return
        for waiting in (self._waiting_async, self._waiting_sync):
            if token in waiting:
                waiting.remove(token)
                error = StepCancelled(f"step '{token.op.name}' was cancelled before it ran")
                self._fail(token, error)

    @property
    def has_waiting(self) -> bool:
        """Whether something waits for room or for the right to act."""
        return bool(self._waiting_async or self._waiting_sync)

    def start_waiting(self) -> None:
        """Start what waits for room or for the right to act."""
        for waiting in (self._waiting_async, self._waiting_sync):
            while waiting and self._may_act() and self._has_room(waiting[0].op.spec.is_async):
                self._begin(waiting.popleft())

    def stop(self) -> None:
        """Cut off every function: async ones are cancelled, sync ones flagged, none recorded."""
        self.closing = True
        self._waiting_async.clear()
        self._waiting_sync.clear()
        self._shell.discard()
        for attempt in list(self._attempts):
            attempt.cancelled = True
            if attempt.task is not None:
                attempt.task.cancel()

    async def idle(self, timeout_s: float) -> bool:
        """Wait until no function runs, at most `timeout_s`; return whether none does."""
        if not self._attempts:
            return True
        self._idle = self._loop.create_future()
        done, _ = await asyncio.wait((self._idle,), timeout=max(0.0, timeout_s))
        self._idle = None
        return bool(done)

    def _left(self, attempt: Attempt) -> None:
        """The function of an attempt has ended."""
        self._attempts.pop(attempt, None)
        if attempt.timer is not None:
            attempt.timer.cancel()
        if self._waiting_async or self._waiting_sync:
            self._loop.call_soon(self.start_waiting)
        if self._idle is not None and not self._attempts and not self._idle.done():
            self._idle.set_result(None)

    # ------------------------------------------------------------ starting

    def _has_room(self, is_async: bool) -> bool:
        if self._log.pressure is Pressure.STOP_STEPS or self._core.draining:
            return False
        if is_async:
            return self._async_running < self._async_max
        return self._threads.unfinished < self._sync_max

    def _may_act(self) -> bool:
        return self._monotonic_ns() < self._log.may_act_until_ns

    def _begin(self, attempt: Attempt) -> None:
        if attempt.op.spec.is_async:
            self._begin_async(attempt)
        else:
            self._begin_thread(attempt)

    def _begin_async(self, attempt: Attempt) -> None:
        """Run an async function up to its first wait; often that is its end."""
        op = attempt.op
        if not attempt.first_us:
            attempt.first_us = self._log.recent_us
        # A copy: what an attempt sets must not reach the next one, nor tie the operation to it.
        loop, shell, variables = self._loop, self._shell, op.variables.copy()
        variables.run(_set_current, attempt)
        if op.timeout_s is not None:
            self._begin_timeout(attempt)
        enter(loop, shell.task)
        try:
            # Asked in this frame: nothing may come between the proof and the call.
            if self._monotonic_ns() >= self._log.may_act_until_ns:
                raise MayNotAct
            coroutine = self._function_of(op.spec)(*op.args, **op.kwargs)
            awaited = variables.run(coroutine.send, None)
        except StopIteration as done:
            leave(loop, shell.task)
            if shell.task.cancelling():
                self._shell = Shell(loop)
            if attempt.timer is not None:
                attempt.timer.cancel()
            self._returned(attempt, done.value)
        except BaseException as error:
            leave(loop, shell.task)
            if shell.task.cancelling():
                self._shell = Shell(loop)
            if attempt.timer is not None:
                attempt.timer.cancel()
            self._raised(attempt, error)
        else:
            leave(loop, shell.task)
            self._waits(attempt, coroutine, awaited, variables)

    def _waits(self, attempt: Attempt, coroutine: Any, awaited: Any, variables: VarContext) -> None:
        """The function waits for something: from here on it is a task."""
        shell, self._shell = self._shell, Shell(self._loop)
        self._async_running += 1
        self._attempts[attempt] = None
        attempt.task = shell.task
        shell.carry(coroutine, awaited, variables, functools.partial(self._async_done, attempt))

    def _async_done(self, attempt: Attempt, value: Any, error: BaseException | None) -> None:
        self._end_async(attempt)
        if error is None:
            self._returned(attempt, value)
        else:
            self._raised(attempt, error)

    def _begin_thread(self, attempt: Attempt) -> None:
        op = attempt.op
        if not attempt.first_us:
            attempt.first_us = self._log.recent_us
        self._attempts[attempt] = None
        variables = op.variables.copy()
        variables.run(_set_current, attempt)
        self._threads.submit(
            functools.partial(self._call, attempt),
            variables,
            functools.partial(self._thread_done, attempt),
            functools.partial(self._begin_timeout, attempt) if op.timeout_s else None,
        )

    def _call(self, attempt: Attempt) -> Any:
        """Call a sync function; in its thread."""
        op = attempt.op
        if self.closing or self._monotonic_ns() >= self._log.may_act_until_ns:
            raise MayNotAct
        return self._function_of(op.spec)(*op.args, **op.kwargs)

    def _wait_to_act(self, attempt: Attempt) -> None:
        """The right to act ended before the call: the attempt goes to the head of the queue."""
        is_async = attempt.op.spec.is_async
        (self._waiting_async if is_async else self._waiting_sync).appendleft(attempt)

    def _begin_timeout(self, attempt: Attempt) -> None:
        timeout_s = attempt.op.timeout_s
        assert timeout_s is not None
        attempt.deadline = self._monotonic_ns() / 1e9 + timeout_s
        attempt.timer = self._loop.call_later(timeout_s, self._timed_out, attempt)

    def _end_async(self, attempt: Attempt) -> None:
        self._async_running -= 1
        self._left(attempt)

    def _thread_done(self, attempt: Attempt, value: Any, error: BaseException | None) -> None:
        if error is None and inspect.isawaitable(value):
            if attempt.run.in_flight.get(attempt.op.position) is not attempt or self.closing:
                # It timed out, or closing cut it off: the rest of it does not begin.
                close: Any = getattr(value, "close", None)
                if close is not None:
                    close()
                self._left(attempt)
                return
            self._async_running += 1
            attempt.task = asyncio.Task(
                self._await(attempt, value), loop=self._loop, context=attempt.op.variables.copy()
            )
            return
        self._left(attempt)
        if error is None:
            self._returned(attempt, value)
        else:
            self._raised(attempt, error)

    async def _await(self, attempt: Attempt, awaitable: Any) -> None:
        """A sync function returned an awaitable: its result is the awaited one."""
        _set_current(attempt)
        try:
            value = await awaitable
        except BaseException as error:
            self._async_done(attempt, None, error)
        else:
            self._async_done(attempt, value, None)

    # ------------------------------------------------------------ ending

    def _returned(self, attempt: Attempt, value: Any) -> None:
        op = attempt.op
        assert op.codec is not None, "a step knows how its result is written"
        try:
            payload, value = op.codec.roundtrip(value)
        except (EncodeError, PayloadTooLarge) as error:
            error.add_note(
                f"step '{op.name}' ran and its effects happened; only its result could not be "
                "recorded, so it is not run again"
            )
            self._finish(attempt, error)
            return
        if len(payload) > PAYLOAD_BYTES_WARN:
            LOGGER.warning("%s", large_payload(f"the result of step '{op.name}'", len(payload)))
        self._done(attempt, Arrival(op.position, Outcome.VALUE, payload, value, attempt.attempt))

    def _done(self, attempt: Attempt, arrival: Arrival) -> None:
        try:
            step_done(self._core, attempt.run, attempt, arrival)
        except BaseException as error:
            # Nobody awaits this task: without a word the run would wait for ever.
            self._on_bug(error)
            raise

    def _raised(self, attempt: Attempt, error: BaseException) -> None:
        if isinstance(error, asyncio.CancelledError):
            self._cancelled(attempt)
        elif isinstance(error, MayNotAct):
            self._wait_to_act(attempt)
        elif isinstance(error, KeyboardInterrupt | SystemExit):
            # The process is being taken down: not an outcome.
            step_lost(attempt.run, attempt, attempt.op.position)
            self._on_interrupt(error)
            raise error  # Out of the application's loop, from wherever the step ran.
        elif isinstance(error, GeneratorExit) and (self.closing or not self._loop.is_running()):
            step_lost(attempt.run, attempt, attempt.op.position)  # Its coroutine was thrown away.
        else:
            self._fail(attempt, error)

    def _cancelled(self, attempt: Attempt) -> None:
        """A function ended by CancelledError: asked by the code, by the host, or by itself."""
        name = attempt.op.name
        if attempt.cancel_requested:
            self._finish(attempt, StepCancelled(f"step '{name}' was cancelled while it ran"))
        elif self.closing or (attempt.task is not None and attempt.task.cancelling() > 0):
            step_lost(attempt.run, attempt, attempt.op.position)
        else:
            text = f"step '{name}' raised CancelledError though nobody cancelled it"
            self._fail(attempt, StepCancelled(text, spontaneous=True))

    def _timed_out(self, attempt: Attempt) -> None:
        """The attempt failed; whatever its function still brings is late."""
        if attempt.run.in_flight.get(attempt.op.position) is not attempt:
            return
        timeout_s = attempt.op.timeout_s
        error = StepTimeout(
            f"step '{attempt.op.name}' ran longer than its timeout of {timeout_s:g} s"
        )
        self._fail(attempt, error)
        attempt.cancelled = True
        if attempt.task is not None:
            attempt.task.cancel()

    def _fail(self, attempt: Attempt, error: BaseException) -> None:
        """An attempt failed: another one, or the step's outcome."""
        if attempt.cancel_requested:
            self._finish(attempt, error)
            return
        now_us = self._core.log.now_us()
        follows = failed_attempt(
            attempt.op, attempt.attempt, attempt.first_us, error, now_us, self._random
        )
        if isinstance(follows, AttemptFailed):
            try:
                step_failed(self._core, attempt.run, attempt, follows)
            except BaseException as bug:
                self._on_bug(bug)
                raise
        else:
            self._done(attempt, follows)

    def _finish(self, attempt: Attempt, error: BaseException) -> None:
        """The step's outcome is this failure."""
        self._done(attempt, failure(attempt.op.position, attempt.attempt, error))
