"""Workflow code that blocks the application's loop is reported while it still does (T-9).

    look ── a turn ── look ── the same turn ── ... ── the same turn for too long: warn, once

A thread of its own looks, since the loop cannot. A turn is timed from the first look that sees
it, so the warning is late by at most one look and never early.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from fusee.sdk.source import innermost_site, turn_stack

if TYPE_CHECKING:
    from fusee.engine.run import Run
    from fusee.engine.watch import TurnWatch
    from fusee.io.surroundings import Surroundings

LOOKS = 4
"""How many times a turn is looked at before it is said to block."""
MOVE_IT = "nothing else in this process runs meanwhile: move what takes long into ctx.step(...)"


class Watchdog:
    """Looks at the turns of one engine until it is closed. Made on the thread that turns."""

    def __init__(
        self,
        watch: TurnWatch,
        surroundings: Surroundings,
        blocked_after_s: float,
        warn: Callable[[str], None],
    ) -> None:
        self._watch = watch
        self._monotonic_ns = surroundings.clock.monotonic_ns
        self._blocked_after_ns = round(blocked_after_s * 1e9)
        self._warn = warn
        self._owner = threading.get_ident()
        self._warned = -1
        self._looking = surroundings.look_aside(
            self.look, blocked_after_s / LOOKS, "fusee-watchdog"
        )

    def close(self) -> None:
        """Look no more."""
        self._looking.close()

    def look(self) -> None:
        """Look once; in the watchdog's thread."""
        watch = self._watch
        seen = watch.look(self._monotonic_ns())
        if seen is None or seen[1] < self._blocked_after_ns or watch.number == self._warned:
            return
        run, took_ns = seen
        frame = sys._current_frames().get(self._owner)
        stack, where = turn_stack(frame), innermost_site(frame)
        del frame  # It would keep what the code holds alive until the next look.
        if not watch.goes_on():
            return  # It ended while its stack was read: that may be another turn's.
        self._warned = watch.number
        watch.blocked.append((run, where))
        self._warn(_text(run, took_ns / 1e9, where, stack))


def _text(run: Run, took_s: float, where: str, stack: str) -> str:
    at = f" at {where}" if where else ""
    return (
        f"run {run.key} has blocked the event loop for {took_s:.1f} s{at}; {MOVE_IT}\n{stack}"
    ).rstrip()
