"""What a WorkflowLoop asks of the engine that turns it: the time, and durable timers.

The loop has no clock and no selector. Time stands still within a turn and is the time that the
journal gives to that turn; a timer is an operation of the run with a position, so it survives the
process. The simulator's world implements the same protocol with virtual time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from fusee.loop.evict import Evicted

if TYPE_CHECKING:
    from collections.abc import Callable


class LoopHost(Protocol):
    """The engine as one loop sees it."""

    def now_us(self) -> int:
        """Return the time of the current turn, in microseconds since the epoch."""
        ...

    def start_timer(self, due_us: int, fire: Callable[[], None], name: str) -> int:
        """Start a durable timer and return its position in the run.

        `fire` is called at most once, at the turn that delivers the timer, before
        `run_until_idle`. `name` is for people and the same on every Python version.
        """
        ...

    def cancel_timer(self, position: int) -> None:
        """Remove a timer that has not fired."""
        ...


class Gone:
    """The host of a loop whose run has left memory: code that refused to unwind may still ask."""

    def now_us(self) -> int:
        """Time stands still."""
        return 0

    def start_timer(self, due_us: int, fire: Callable[[], None], name: str) -> int:
        """No timer is ever armed again."""
        raise Evicted

    def cancel_timer(self, position: int) -> None:
        """There is none."""


GONE = Gone()
