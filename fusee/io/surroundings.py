"""What an engine takes from the process around it: time, chance, and threads.

Everything else that it does follows from its inputs. The simulator brings a world of its own
in which the same code runs on one thread; nothing in the engine asks which one it is in.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from random import Random
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Protocol

from fusee.base.limits import TURNS_PER_ITERATION_MAX
from fusee.io.clock import SystemClock
from fusee.io.threads import StepThreads

if TYPE_CHECKING:
    from contextvars import Context

    from fusee.base.clock import Clock
    from fusee.io.threads import OnResult
    from fusee.io.wakeup import Wake
    from fusee.sdk.step import StepSpec


class Threads(Protocol):
    """Where synchronous steps run; see `fusee.io.threads`."""

    @property
    def unfinished(self) -> int:
        """How many functions wait or run."""
        ...

    def submit(
        self,
        function: Callable[[], Any],
        context: Context,
        on_done: OnResult,
        on_start: Callable[[], None] | None = None,
    ) -> object:
        """Run a function in a context; report on the owner's thread."""
        ...

    def close(self) -> None:
        """Tell nobody anything any more. Idempotent."""
        ...


class Aside(Protocol):
    """Work that goes on beside the owner's loop."""

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end, at most so many seconds."""
        ...


def thread_aside(work: Callable[[], None], name: str) -> Aside:
    """Do work in a daemon thread of its own."""
    thread = Thread(target=work, name=name, daemon=True)
    thread.start()
    return thread


class Looking(Protocol):
    """Something is looked at beside the owner's loop, again and again."""

    def close(self) -> None:
        """Look no more. Idempotent, and does not wait for long."""
        ...


class ThreadLooking:
    """Looks every so many seconds, in a daemon thread of its own."""

    __slots__ = ("_closed", "_look", "_period_s", "_thread")

    def __init__(self, look: Callable[[], None], period_s: float, name: str) -> None:
        self._look = look
        self._period_s = period_s
        self._closed = Event()
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Look no more."""
        self._closed.set()
        # Bounded: a look that hangs in somebody's log handler must not keep the engine open.
        self._thread.join(1.0)

    def _run(self) -> None:
        while not self._closed.wait(self._period_s):
            self._look()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The sources of everything that differs between two runs of the same program."""

    clock: Clock = field(default_factory=SystemClock)
    entropy: Callable[[int], bytes] = os.urandom
    """Returns so many random bytes: identities, and what workflow code draws."""
    random: Random = field(default_factory=Random)
    """Spreads retries."""
    make_threads: Callable[[int, Wake], Threads] = StepThreads
    run_aside: Callable[[Callable[[], None], str], Aside] = thread_aside
    clock_look_s: float = 1.0
    """How long to trust that nobody sets the wall clock: due times are looked at so often."""
    turns_max: int = TURNS_PER_ITERATION_MAX
    """So many turns, and timers, before the application's own tasks have their turn."""
    function_of: Callable[[StepSpec], Callable[..., Any]] = attrgetter("fn")
    """What is called for a step: its own function, or what a test puts in its place, which is
    async where the step's own function is."""
    look_aside: Callable[[Callable[[], None], float, str], Looking] = ThreadLooking
    """Calls a function every so many seconds, also while the owner's loop stands still."""
    python: str = field(default_factory=platform.python_version)
    """Recorded with each start, for a text that says what has changed since."""
