"""Which turn is under way, for somebody beside the owner's thread who sees that it does not end.

The owner notes each turn with two stores and asks no clock. The onlooker compares what it sees
with what it saw before, and leaves a word here about a turn that takes too long; the owner
reads that between turns, so a run is held by its owner only (rule T-9).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from fusee.base.limits import BLOCKED_TURNS_MAX
from fusee.engine.run import Held

if TYPE_CHECKING:
    from fusee.engine.core import Core
    from fusee.engine.run import Run

BLOCKED_LOOP = "blocked-loop"


class TurnWatch:
    """The turn under way, and what was found about turns."""

    __slots__ = ("_seen", "_seen_ns", "blocked", "number", "run")

    def __init__(self) -> None:
        self.number = 0
        """Counts turns, so that two of one run are told apart."""
        self.run: Run | None = None
        """Whose turn it is, None between iterations."""
        self.blocked: deque[tuple[Run, str]] = deque()
        """Runs whose turn took too long and where in the code, for the owner to read."""
        self._seen = 0
        self._seen_ns = 0

    # ------------------------------------------------------------ beside the owner

    def look(self, now_ns: int) -> tuple[Run, int] | None:
        """Return whose turn is under way and for how long at least; None when it is nobody's.

        The owner may go on between any two lines here. It counts before it names the run, so
        what is taken for an old turn's run is at worst a new turn's, which `goes_on` denies.
        """
        number, run = self.number, self.run
        if run is None:
            return None
        if number != self._seen:
            self._seen, self._seen_ns = number, now_ns
        return run, now_ns - self._seen_ns

    def goes_on(self) -> bool:
        """Whether the turn seen last has still not ended."""
        return self.run is not None and self.number == self._seen


def note_blocked(core: Core) -> None:
    """Count turns that blocked the loop; a run that does so again and again is held."""
    while core.watch.blocked:
        run, where = core.watch.blocked.popleft()
        run.blocked_turns += 1
        if run.blocked_turns >= BLOCKED_TURNS_MAX and run.is_open and run.held is None:
            core.hold(run, Held(BLOCKED_LOOP, _text(run, where)))


def _text(run: Run, where: str) -> str:
    at = f", the last time at {where}" if where else ""
    return (
        f"the code blocked the event loop in {run.blocked_turns} of its turns{at}\n"
        f"  held: run {run.key} waits for code that does not block; what it did is recorded\n"
        "  hint: nothing else in this process runs meanwhile; move what takes long into "
        "ctx.step(...)"
    )
