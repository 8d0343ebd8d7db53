"""Async generators of a run: held until they are finished, never left to the collector.

Plain asyncio closes an abandoned generator when it is collected, and a generator in a cycle (an
exception's traceback is enough) is collected at any time, on any thread. That would run `finally`
bodies at another place in every replay. A run's loop therefore keeps a strong reference to each
generator from its first iteration on, drops the finished ones now and then, and closes the rest
at one place: `shutdown_asyncgens` or eviction.

The hooks of `sys` are the thread's, and the host's loop has set its own. `AsyncgenHooks`
adds one test in front of them. The finaliser stays the host's: of a run's generators only finished
ones are ever collected, and those have no finaliser call.
"""

from __future__ import annotations

import sys
from asyncio import _get_running_loop
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import AsyncGeneratorType

_PRUNE_FIRST = 16


class AsyncGens:
    """The unfinished async generators of one run, in order of first iteration."""

    __slots__ = ("_all", "_prune_at")

    def __init__(self) -> None:
        self._all: list[AsyncGeneratorType[Any, Any]] = []
        self._prune_at = _PRUNE_FIRST

    def __len__(self) -> int:
        return len(self._all)

    def add(self, agen: AsyncGeneratorType[Any, Any]) -> None:
        """Hold a generator that is about to be iterated for the first time."""
        if len(self._all) >= self._prune_at:
            self._all = self.unfinished()
            self._prune_at = max(_PRUNE_FIRST, 2 * len(self._all))
        self._all.append(agen)

    def unfinished(self) -> list[AsyncGeneratorType[Any, Any]]:
        """Return those that still have a frame to unwind, oldest first."""
        return [agen for agen in self._all if agen.ag_frame is not None]

    def take(self) -> list[AsyncGeneratorType[Any, Any]]:
        """Return the unfinished ones, newest first as nesting unwinds, and forget all."""
        taken = self.unfinished()
        taken.reverse()
        self._all.clear()
        return taken


class AsyncgenHooks:
    """Sends generators first iterated on a run's loop to that loop, everything else onwards.

    The hooks belong to the thread. asyncio sets its own whenever a loop begins to run, so
    the engine makes sure of ours before a batch of turns: one look, seldom more.
    """

    __slots__ = ("_ours", "_previous")

    def __init__(self) -> None:
        self._previous: sys._asyncgen_hooks | None = None
        self._ours = self._first_iterated

    def ensure(self) -> None:
        """Put the hooks in place unless they are."""
        current = sys.get_asyncgen_hooks()
        if current.firstiter is not self._ours:
            self._previous = current
            sys.set_asyncgen_hooks(firstiter=self._ours, finalizer=current.finalizer)

    def restore(self) -> None:
        """Take the hooks away if nobody has put others over them."""
        previous = self._previous
        if previous is not None and sys.get_asyncgen_hooks().firstiter is self._ours:
            sys.set_asyncgen_hooks(firstiter=previous.firstiter, finalizer=previous.finalizer)
        self._previous = None

    def _first_iterated(self, agen: Any) -> None:
        gens = getattr(_get_running_loop(), "run_asyncgens", None)
        if gens is not None:
            gens.add(agen)
        elif self._previous is not None and self._previous.firstiter is not None:
            self._previous.firstiter(agen)
