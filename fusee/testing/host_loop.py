"""The event loop of a simulated process: the workflow loop with the world's time.

What an application runs on asyncio runs on this loop unchanged, as far as it asks for tasks,
futures and timers. Sockets, threads and subprocesses belong to the real world and are
refused with the user's line, exactly as in workflow code.

One iteration runs what was ready when it began, as asyncio does, and costs a little time:
code that polls goes on for ever, but time goes on with it.
"""

from __future__ import annotations

import asyncio
from asyncio import _get_running_loop, _set_running_loop
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from fusee.loop.tasks import WorkflowTask
from fusee.loop.workflow_loop import WorkflowLoop
from fusee.testing.guard import not_simulated

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from contextvars import Context
    from types import AsyncGeneratorType

    from fusee.loop.handles import Ready
    from fusee.testing.scheduler import Event, Scheduler

T = TypeVar("T")

ITERATION_US = 5
CLOSES_MAX = 20


class _Timers:
    """`fusee.loop.host.LoopHost` by the world's scheduler."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._events: dict[int, Event] = {}
        self._started = 0
        self._is_over = False

    def now_us(self) -> int:
        return self._scheduler.now_us

    def start_timer(self, due_us: int, fire: Callable[[], None], name: str) -> int:
        self._started = position = self._started + 1
        if self._is_over:
            # What a dead process starts while it falls apart, in an order that only the
            # memory allocator knows, must not even be counted.
            return position

        def happen() -> None:
            del self._events[position]
            fire()

        self._events[position] = self._scheduler.at(due_us, happen)
        return position

    def cancel_timer(self, position: int) -> None:
        event = self._events.pop(position, None)
        if event is not None:
            event.cancel()

    def end(self) -> None:
        self._is_over = True
        for event in self._events.values():
            event.cancel()
        self._events.clear()


class HostLoop(WorkflowLoop):
    """The loop of one process, or of the world outside."""

    turns_a_run = False

    def __init__(
        self,
        scheduler: Scheduler,
        on_error: Callable[[dict[str, Any]], None],
        on_iterated: Callable[[], None],
        iteration_us: int = ITERATION_US,
    ) -> None:
        self._timers = _Timers(scheduler)
        super().__init__(self._timers)
        self.iterations = 0
        self._scheduler = scheduler
        self._on_error = on_error
        self._on_iterated = on_iterated
        self._iteration_us = iteration_us
        self._soon: deque[Ready] = deque()
        self._due: Event | None = None
        self._is_over = False

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Ready:
        """Queue a callback for the next iteration."""
        handle = super().call_soon(callback, *args, context=context)
        if self.ready:
            self._soon.append(self.ready.pop())
        if self._due is None and not self._is_over:
            self._due = self._scheduler.after(self._iteration_us, self._iterate)
        return handle

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Ready:
        """Queue a callback; there is one thread, whoever it stands for."""
        return self.call_soon(callback, *args, context=context)

    @property
    def has_ready(self) -> bool:
        """Whether another iteration follows at once."""
        return bool(self._soon) or self._due is not None

    def _iterate(self) -> None:
        self._due = None
        self.iterations += 1
        self.ready, self._soon = self._soon, self.ready
        outer = _get_running_loop()
        try:
            self.turn()
        finally:
            _set_running_loop(outer)
        for context in self.take_errors():
            self._on_error(context)
        self._on_iterated()
        if self._soon and self._due is None and not self._is_over:
            self._due = self._scheduler.after(self._iteration_us, self._iterate)

    def create_task(  # type: ignore[override]
        self,
        coro: Coroutine[Any, Any, T],
        *,
        name: object = None,
        context: Context | None = None,
        eager_start: bool | None = None,
    ) -> WorkflowTask[T]:
        """Start a task; refused to what unwinds when its process is dead."""
        if self._is_over:
            coro.close()
            raise RuntimeError("a task for a process that has ended")
        return super().create_task(coro, name=name, context=context, eager_start=eager_start)

    def refuse_call(self, what: str, remedy: str) -> NoReturn:
        """Refuse what reaches out of the simulated world."""
        not_simulated(what)

    def halt(self) -> None:
        """End with the process: nothing that waits here ever runs.

        Also what is ready in the present iteration, of which the process may have died.
        """
        self._is_over = True
        if self._due is not None:
            self._due.cancel()
        self._timers.end()
        self.ready.clear()
        self._soon.clear()

    def discard(self) -> None:
        """Halt, and unwind all coroutines and async generators, in the order they were made in.

        Left to the collector they would unwind at a time that no seed decides.
        """
        self.halt()
        self._closed = True
        outer = _get_running_loop()
        _set_running_loop(self)
        try:
            for task in sorted(asyncio.all_tasks(self), key=_when_made):
                # The process is gone; its coroutines must not say that they were forgotten.
                task._log_destroy_pending = False  # type: ignore[attr-defined]  # asyncio's own
                _close(task.get_coro())
            for agen in self.run_asyncgens.take():
                if not agen.ag_running:
                    closing = _closing(agen)
                    with suppress(BaseException):
                        closing.send(None)
                    _close(closing)
        finally:
            _set_running_loop(outer)
        self.ready = self._soon = deque(maxlen=0)


def _when_made(task: asyncio.Task[Any]) -> tuple[bool, int]:
    """Order tasks by when they were made: those of the loop, then those made without it.

    The loop numbers its tasks; of the others, which are the engine's, asyncio counts the names.
    """
    if isinstance(task, WorkflowTask):
        return False, task.number
    count = task.get_name().rpartition("-")[2]
    return True, int(count) if count.isdecimal() else 0


async def _closing(agen: AsyncGeneratorType[Any, Any]) -> None:
    await agen.aclose()


def _close(coroutine: Any) -> None:
    """Unwind a coroutine of a dead process: whatever it does while it unwinds is not heard.

    One that always waits for something else is kept as it is: when it is collected it would
    go on.
    """
    for _ in range(CLOSES_MAX):
        try:
            coroutine.close()
        except RuntimeError:
            continue  # It waits for something while it unwinds, and has to be told again.
        except BaseException:
            return
        return
    _unwilling.append(coroutine)


_unwilling: list[Any] = []
