"""Threads of a simulated process: their work is done at an instant of virtual time.

A real thread runs beside the loop, so what it does may happen before or after anything the
loop does. Here it happens whole, at a time that the seed chooses: every order that matters
to the loop, and no order that only the interpreter knows.
"""

from __future__ import annotations

from asyncio import _get_running_loop, _set_running_loop
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Context

    from fusee.io.threads import OnResult
    from fusee.io.wakeup import Wake
    from fusee.testing.scheduler import Event, Scheduler


def off_loop(function: Callable[[], Any]) -> Any:
    """Call a function as a thread does: no event loop is running there."""
    loop = _get_running_loop()
    _set_running_loop(None)
    try:
        return function()
    finally:
        _set_running_loop(loop)


class SimAside:
    """`fusee.io.surroundings.Aside`: work that is done at its time, or when it is waited for."""

    def __init__(self, scheduler: Scheduler, delay_us: int, work: Callable[[], None]) -> None:
        self._work: Callable[[], None] | None = work
        self._event = scheduler.after(delay_us, self._do)

    def _do(self) -> None:
        work, self._work = self._work, None
        if work is not None:
            off_loop(work)

    def join(self, timeout: float | None = None) -> None:
        """Do it now if it is not done."""
        self._event.cancel()
        self._do()

    def forget(self) -> None:
        """The process is dead: it is never done."""
        self._event.cancel()
        self._work = None


class NotLooking:
    """`fusee.io.surroundings.Looking` where no turn takes any time: there is nothing to see."""

    def __init__(self, look: Callable[[], None], period_s: float, name: str) -> None:
        self._look = look

    def close(self) -> None:
        """Look no more."""


class SimThreads:
    """`fusee.io.surroundings.Threads`: a pool whose functions take no real time."""

    def __init__(
        self, scheduler: Scheduler, delay_us: Callable[[], int], threads_max: int, wake: Wake
    ) -> None:
        self.unfinished = 0
        self._scheduler = scheduler
        self._delay_us = delay_us
        self._threads_max = threads_max
        self._wake = wake
        self._running = 0
        self._waiting: list[Callable[[], None]] = []
        self._events: set[Event] = set()
        self._is_closed = False

    def submit(
        self,
        function: Callable[[], Any],
        context: Context,
        on_done: OnResult,
        on_start: Callable[[], None] | None = None,
    ) -> object:
        """Run a function at an instant after it has started, and report at another."""
        assert not self._is_closed, "submit after close"
        self.unfinished += 1

        def start() -> None:
            self._running += 1
            if on_start is not None:
                self._tell(on_start)
            self._after(run)

        def run() -> None:
            value: Any = None
            error: BaseException | None = None
            try:
                value = off_loop(lambda: context.run(function))
            except BaseException as raised:
                error = raised
            self._tell(lambda: end(value, error))

        def end(value: Any, error: BaseException | None) -> None:
            self._running -= 1
            self.unfinished -= 1
            if self._waiting and not self._is_closed:
                self._waiting.pop(0)()
            on_done(value, error)

        if self._running < self._threads_max:
            start()
        else:
            self._waiting.append(start)
        return start

    def _after(self, happen: Callable[[], object]) -> None:
        def run() -> None:
            self._events.discard(event)
            if not self._is_closed:
                happen()

        event = self._scheduler.after(self._delay_us(), run)
        self._events.add(event)

    def _tell(self, report: Callable[[], None]) -> None:
        """Report on the owner's loop, some time later."""

        def tell() -> None:
            if not self._is_closed:
                report()

        self._after(lambda: self._wake(tell))

    def close(self) -> None:
        """Tell nobody anything any more."""
        self._is_closed = True
        self._waiting.clear()
        for event in self._events:
            event.cancel()
        self._events.clear()
