"""A host for a WorkflowLoop in tests: time that stands still, and timers fired by hand."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from fusee.loop.workflow_loop import WorkflowLoop

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

SECOND = 1_000_000


class Started(NamedTuple):
    due_us: int
    fire: Callable[[], None]
    name: str


class ManualHost:
    """Keeps timers in a dict; `advance` fires the earliest, one in a turn."""

    def __init__(self, now_us: int = 1_000 * SECOND) -> None:
        self.time_us = now_us
        self.timers: dict[int, Started] = {}
        self.started: list[str] = []

    def now_us(self) -> int:
        return self.time_us

    def start_timer(self, due_us: int, fire: Callable[[], None], name: str) -> int:
        position = len(self.started)
        self.started.append(name)
        self.timers[position] = Started(due_us, fire, name)
        return position

    def cancel_timer(self, position: int) -> None:
        del self.timers[position]

    def advance(self) -> bool:
        """Move to the earliest timer and fire it; tell whether there was one."""
        if not self.timers:
            return False
        position = min(self.timers, key=lambda position: (self.timers[position].due_us, position))
        timer = self.timers.pop(position)
        self.time_us = max(self.time_us, timer.due_us)
        timer.fire()
        return True


class LoudLoop(WorkflowLoop):
    """Keeps what asyncio complains about even while the run is evicted."""

    def __init__(self, host: ManualHost) -> None:
        super().__init__(host)
        self.complaints: list[str] = []

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        # A TaskGroup whose parent unwinds before its children says so; nobody is meant to hear it.
        if not (self.evicting and "is already completed" in context["message"]):
            self.complaints.append(context["message"])
        super().call_exception_handler(context)


class Run:
    """One workflow on its own loop."""

    def __init__(self, main: Coroutine[Any, Any, Any]) -> None:
        self.host = ManualHost()
        self.loop = LoudLoop(self.host)
        self.task = self.loop.create_task(main)
        self.turns = 0
        self.turn()

    def turn(self) -> None:
        self.loop.run_until_idle()
        self.turns += 1

    def finish(self) -> Any:
        """Fire timers until the workflow has ended; return its result."""
        while not self.task.done():
            assert self.host.advance(), "the workflow waits for something that is not a timer"
            self.turn()
        return self.task.result()


def finish(main: Coroutine[Any, Any, Any]) -> Any:
    """Run a workflow that only waits for timers."""
    run = Run(main)
    result = run.finish()
    run.loop.close()
    assert run.loop.complaints == []
    return result


def this_loop() -> WorkflowLoop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, WorkflowLoop)
    return loop
