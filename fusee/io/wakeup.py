"""Waking the owner's loop from another thread, at most once for any number of reasons.

The order is the whole idea, and both halves need it:

    publisher   publish, then set the flag; call into the loop only if it was clear
    receiver    clear the flag, then read

A publisher that finds the flag set may rely on a receiver that has yet to read. Clearing
after reading instead would lose what was published in between.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

Wake = Callable[[Callable[[], None]], Any]
"""Calls a function soon on the owner's thread; `wake_loop(loop)` in production."""


class Wakeup:
    """A bell. `ring` from any thread after publishing; `receive` then runs on the owner's."""

    __slots__ = ("_is_set", "_receive", "_wake")

    def __init__(self, wake: Wake, receive: Callable[[], None]) -> None:
        self._wake = wake
        self._receive = receive
        self._is_set = False

    def ring(self) -> None:
        """Have `receive` called, unless a call that has not read yet is under way."""
        # Two publishers may both find it clear: then the receiver runs twice, which is harmless.
        if not self._is_set:
            self._is_set = True
            self._wake(self._answer)

    def _answer(self) -> None:
        self._is_set = False
        self._receive()


def wake_loop(loop: asyncio.AbstractEventLoop) -> Wake:
    """Return the wake function of an event loop, to which a closed loop is not an error.

    What is published for a closed loop has no reader any more, and nobody to tell.
    """

    def wake(function: Callable[[], None]) -> None:
        try:
            loop.call_soon_threadsafe(function)
        except RuntimeError:
            if not loop.is_closed():
                raise

    return wake
