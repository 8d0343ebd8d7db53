"""What `call_soon` and `call_later` return.

Not asyncio's Handle: that one reads the debug flag, keeps a source traceback and wraps the call in
another frame, which costs more than the turn it belongs to. `Ready` has no `__init__` for the
same reason; WorkflowLoop.call_soon fills the slots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Context

    from fusee.loop.workflow_loop import WorkflowLoop


class Ready:
    """A callback in the ready queue. A cancelled one stays there and is passed over."""

    __slots__ = ("args", "callback", "context")

    callback: Callable[..., object] | None
    args: tuple[Any, ...]
    context: Context

    def cancel(self) -> None:
        """Forget the callback, and with it what it refers to."""
        self.callback = None
        self.args = ()

    def cancelled(self) -> bool:
        """Tell whether `cancel` was called."""
        return self.callback is None


class Timer:
    """A callback that waits for a durable timer.

    Cancelling it after it fired but before its callback ran still prevents the callback, as in
    asyncio: a timeout that is left in the turn in which it expires must not expire.
    """

    __slots__ = (
        "_args",
        "_callback",
        "_cancelled",
        "_context",
        "_loop",
        "_ready",
        "_when",
        "position",
    )

    def __init__(
        self,
        loop: WorkflowLoop,
        when: float,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        context: Context,
    ) -> None:
        self._loop = loop
        self._when = when
        self._callback: Callable[..., object] | None = callback
        self._args = args
        self._context = context
        self._ready: Ready | None = None
        self._cancelled = False
        self.position = -1
        """Of the timer in the run; -1 for one that never reached the engine."""

    def fire(self) -> None:
        """Queue the callback; the host calls this when it delivers the timer."""
        callback = self._callback
        if callback is not None:
            self._ready = self._loop.call_soon(callback, *self._args, context=self._context)
            self._callback, self._args = None, ()

    def cancel(self) -> None:
        """Prevent the callback and remove the timer from the run if it is still there."""
        if self._cancelled:
            return
        self._cancelled = True
        if self._ready is not None:
            self._ready.cancel()
        elif self._callback is not None:
            self._callback, self._args = None, ()
            self._loop.drop_timer(self.position)

    def cancelled(self) -> bool:
        """Tell whether `cancel` was called."""
        return self._cancelled

    def when(self) -> float:
        """Return the time at which it is due, in seconds of `loop.time()`."""
        return self._when
