"""Names for timers that asyncio starts.

The callback says what a timer is for, but its name moves with the Python version (3.12 rewrote
`wait_for`), and the name of an operation is compared at replay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_OF_ASYNCIO = {
    "_set_result_unless_cancelled": "sleep",
    "_release_waiter": "timeout",
    "Timeout._on_timeout": "timeout",
    "as_completed.<locals>._on_timeout": "timeout",
    "_AsCompletedIterator._handle_timeout": "timeout",
}


def timer_name(callback: Callable[..., object]) -> str:
    """Return "sleep", "timeout", or "call_later" for a callback of the user's."""
    return _OF_ASYNCIO.get(getattr(callback, "__qualname__", ""), "call_later")
