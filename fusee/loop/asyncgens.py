"""Async generators of a run: held until they are finished, never left to the collector.

Plain asyncio closes an abandoned generator when it is collected, and a generator in a cycle (an
exception's traceback is enough) is collected at any time, on any thread. That would run `finally`
bodies at another place in every replay. A run's loop therefore keeps a strong reference to each
generator from its first iteration on, drops the finished ones now and then, and closes the rest
at one place: `shutdown_asyncgens` or eviction.

The hooks of `sys` are the thread's, and the host's loop has set its own. `install_asyncgen_hooks`
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


def install_asyncgen_hooks() -> sys._asyncgen_hooks:
    """Send generators first iterated on a run's loop to that loop; return the hooks to restore.

    The engine calls this once for a batch of turns; per turn it would double the cost of one.
    """
    previous = sys.get_asyncgen_hooks()
    host_firstiter = previous.firstiter

    def firstiter(agen: Any) -> None:
        gens = getattr(_get_running_loop(), "run_asyncgens", None)
        if gens is not None:
            gens.add(agen)
        elif host_firstiter is not None:
            host_firstiter(agen)

    sys.set_asyncgen_hooks(firstiter=firstiter, finalizer=previous.finalizer)
    return previous


def restore_asyncgen_hooks(previous: sys._asyncgen_hooks) -> None:
    """Undo `install_asyncgen_hooks`."""
    sys.set_asyncgen_hooks(firstiter=previous.firstiter, finalizer=previous.finalizer)
