"""The event loop of one run. It has no clock, no selector and no thread: the engine turns it.

    engine, in a callback of the host's loop
      op.set_result(outcome)      exactly one outcome becomes visible
      loop.run_until_idle()       one turn: callbacks run first in, first out, until none is ready
      ...the next turn

Everything that could differ between the first execution and a replay is taken away: time is the
turn's, timers are operations of the run, hashes and task names count creations, and whatever
reaches outside raises IllegalInWorkflow (fusee.loop.illegal).

Turns are the engine's hot path. The host's task stays current on the host's loop meanwhile, since
asyncio keeps one current task per loop.
"""

from __future__ import annotations

import math
from asyncio import _get_running_loop, _set_running_loop
from collections import deque
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, TypeVar

from fusee.loop.asyncgens import AsyncGens
from fusee.loop.evict import EVICTED_CALLS_AGAIN, EVICTED_CALLS_MAX, Evicted, leak, unwind
from fusee.loop.handles import Ready, Timer
from fusee.loop.illegal import IllegalCalls, refuse
from fusee.loop.tasks import WorkflowFuture, WorkflowTask
from fusee.loop.timer_names import timer_name

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from contextvars import Context

    from fusee.loop.host import LoopHost

T = TypeVar("T")

_TASKS_PRUNE_FIRST = 16
_ERRORS_MAX = 100
_LAST_DUE_US = 253_402_300_800_000_000
"""The end of year 9999, where datetime ends."""


class WorkflowLoop(IllegalCalls):
    """One run's event loop."""

    turns_a_run = True
    """False where the same loop carries a whole application, in the simulator."""

    def __init__(self, host: LoopHost) -> None:
        self.host = host
        self.created = 0
        """Tasks and futures created so far; the newest one's number."""
        self.evicting = False
        """True from the start of `evict` on: calls on ctx must go to `evicted_call` instead."""
        self.run_asyncgens = AsyncGens()
        self.ready: deque[Ready] = deque()
        self.tasks: list[WorkflowTask[Any]] = []
        self._tasks_prune_at = _TASKS_PRUNE_FIRST
        self.errors: list[dict[str, Any]] = []
        """Errors nobody awaits, as asyncio describes them; `take_errors` empties it."""
        self._evicted_calls = 0
        self._closed = False

    # ---------------------------------------------------------------- turning

    def run_until_idle(self) -> None:
        """Run ready callbacks until there are none; then the host's loop is running again."""
        host = _get_running_loop()
        if host is self:
            raise RuntimeError("a turn inside a turn of the same run")
        try:
            self.turn()
        finally:
            _set_running_loop(host)

    def turn(self) -> None:
        """Do as `run_until_idle`, but stay the running loop.

        For a batch of turns, whose caller restores the host's loop once: on 3.11 setting the
        running loop asks the system for the process's number, a tenth of a turn.
        """
        ready = self.ready
        _set_running_loop(self)
        while ready:
            handle = ready.popleft()
            callback = handle.callback
            if callback is None:
                continue
            args = handle.args
            try:
                # Task wake-ups have one argument, and a plain call is cheaper than unpacking.
                if len(args) == 1:
                    handle.context.run(callback, args[0])
                else:
                    handle.context.run(callback, *args)
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:
                self._callback_failed(callback, error)

    def is_running(self) -> bool:
        """Tell whether code of this run is being executed right now."""
        return _get_running_loop() is self

    # ---------------------------------------------------------------- callbacks

    def call_soon(  # type: ignore[override]  # a Ready is not a Handle, see handles.py
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Ready:
        """Queue a callback for this turn, or the next one if no turn is running."""
        handle = Ready()
        handle.callback = callback
        handle.args = args
        handle.context = copy_context() if context is None else context
        self.ready.append(handle)
        return handle

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Ready:
        """Do as `call_soon` within the run; refuse anyone else."""
        if _get_running_loop() is not self:
            refuse("call_soon_threadsafe from outside the run")
        return self.call_soon(callback, *args, context=context)

    def call_later(  # type: ignore[override]
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> Timer:
        """Queue a callback after `delay` seconds by a durable timer; now if not positive."""
        now_us = self.host.now_us()
        due_us = now_us if delay <= 0 else now_us + _microseconds(delay)
        return self._start_timer(due_us, callback, args, context)

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> Timer:
        """Queue a callback at `when` of `time()` by a durable timer; at once if that has passed."""
        return self._start_timer(_microseconds(when), callback, args, context)

    def _start_timer(
        self,
        due_us: int,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        context: Context | None,
    ) -> Timer:
        if due_us > _LAST_DUE_US:
            raise ValueError("a timer past the year 9999")
        timer = Timer(
            self, due_us / 1e6, callback, args, copy_context() if context is None else context
        )
        if due_us <= self.host.now_us():
            timer.fire()
        elif self.evicting:
            self.evicted_call()
        else:
            timer.position = self.host.start_timer(due_us, timer.fire, timer_name(callback))
        return timer

    def drop_timer(self, position: int) -> None:
        """Take a cancelled timer out of the run; an evicted run keeps its timers."""
        if not self.evicting and not self._closed:
            self.host.cancel_timer(position)

    def time(self) -> float:
        """Return the time of the turn in seconds since the epoch."""
        return self.host.now_us() / 1e6

    # ---------------------------------------------------------------- tasks and futures

    def create_future(self) -> WorkflowFuture[Any]:
        """Return a future that hashes by its number in the run."""
        return WorkflowFuture(self)

    def create_task(  # type: ignore[override]
        self,
        coro: Coroutine[Any, Any, T],
        *,
        name: object = None,
        context: Context | None = None,
        eager_start: bool | None = None,
    ) -> WorkflowTask[T]:
        """Start a task, which the run keeps alive until it is done, whatever the caller does."""
        if eager_start:
            refuse("an eager task", "the order of operations would depend on the Python version")
        if self.evicting:
            coro.close()
            if self._closed:
                raise RuntimeError("a task for a run that has ended")
            raise Evicted
        task = WorkflowTask(coro, self, None if name is None else str(name), context)
        tasks = self.tasks
        if len(tasks) >= self._tasks_prune_at:
            tasks[:] = [other for other in tasks if not other.done()]
            self._tasks_prune_at = max(_TASKS_PRUNE_FIRST, 2 * len(tasks))
        tasks.append(task)
        return task

    def get_task_factory(self) -> None:
        """Return None: tasks are always WorkflowTasks."""

    # ---------------------------------------------------------------- errors

    def get_debug(self) -> bool:
        """Return False: debug mode would slow each future down and change no order."""
        return False

    def get_exception_handler(self) -> None:
        """Return None: errors go to the engine by `take_errors`."""

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """Do as `call_exception_handler`."""
        self.call_exception_handler(context)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Keep an error nobody awaits, such as of a dropped task, for the engine to log."""
        if not self.evicting and not self._closed and len(self.errors) < _ERRORS_MAX:
            self.errors.append(context)

    def take_errors(self) -> list[dict[str, Any]]:
        """Return the errors since the last call, as asyncio describes them, and forget them."""
        errors, self.errors = self.errors, []
        return errors

    def forget_done(self) -> None:
        """Drop tasks that are done; an error of theirs that nobody awaited is told now.

        Left to the collector it would be told at any time, or never.
        """
        done = [task for task in self.tasks if task.done()]
        self.tasks[:] = [task for task in self.tasks if not task.done()]
        for task in done:
            if getattr(task, "_log_traceback", False):
                message = f"the error of task {task.get_name()} was never retrieved"
                self.call_exception_handler({"message": message, "exception": task.exception()})

    def _callback_failed(self, callback: Callable[..., object], error: BaseException) -> None:
        message = f"Exception in callback {callback!r}"
        self.call_exception_handler({"message": message, "exception": error})

    # ---------------------------------------------------------------- the end

    async def shutdown_asyncgens(self) -> None:
        """Close the run's unfinished async generators, the newest first."""
        for agen in self.run_asyncgens.take():
            try:
                await agen.aclose()
            except Exception as error:
                self.call_exception_handler(
                    {
                        "message": f"an error occurred during closing of {agen!r}",
                        "exception": error,
                        "asyncgen": agen,
                    }
                )

    def evict(self) -> list[str]:
        """Unwind every task without running compensations; return the names of those that refuse.

        Afterwards the loop is closed: what still completes one of its futures does nothing.
        """
        if self._closed:
            return []
        if self.is_running():
            raise RuntimeError("a run is evicted between its turns")
        self.evicting = True
        refused = unwind(self)
        if refused:
            leak(self)
        else:
            self.tasks.clear()
        self._closed = True
        # Whatever the engine still delivers falls into a queue that holds nothing.
        self.ready = deque(maxlen=0)
        return [task.get_name() for task in refused]

    def evicted_call(self) -> WorkflowFuture[Any]:
        """Do what every call on ctx must do while `evicting`: raise Evicted.

        Code that catches it and calls again for ever gets a future that never completes instead.
        """
        self._evicted_calls += 1
        if self._evicted_calls < EVICTED_CALLS_MAX:
            raise Evicted
        # It is such a loop. The next rounds need not find out again at the same price.
        self._evicted_calls -= EVICTED_CALLS_AGAIN
        return WorkflowFuture(self)

    def close(self) -> None:
        """End the run's loop after its last turn; tasks that are left unwind as in `evict`."""
        if not self._closed:
            self.forget_done()
        self.evict()

    def is_closed(self) -> bool:
        """Tell whether the run has ended or was evicted."""
        return self._closed


def _microseconds(seconds: float) -> int:
    if not math.isfinite(seconds):
        raise ValueError(f"a timer of {seconds} seconds")
    return max(1, round(seconds * 1e6))


def in_workflow_code() -> bool:
    """Tell whether the caller is code of a run, which may not ask for what a replay lacks."""
    loop = _get_running_loop()
    return isinstance(loop, WorkflowLoop) and loop.turns_a_run
