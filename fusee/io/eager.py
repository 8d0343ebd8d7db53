"""Starting a task at once, inside the present callback, instead of in the loop's next round.

Most step functions that finish quickly then cost no round of the loop. Python 3.12 has
`eager_start`. Python 3.11 asks the loop for a later first step through `loop.call_soon`;
for the length of the constructor that name leads here, and the first step runs now. Only
the loop's own thread may call it, and call_soon_threadsafe does not go through it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any

_Task = asyncio.Task

if sys.version_info >= (3, 12):

    def start_task(
        loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, None], context: Context
    ) -> asyncio.Task[None]:
        """Return a task whose coroutine has run up to its first real wait."""
        return _Task(coroutine, loop=loop, context=context, eager_start=True)

else:
    _first: list[Callable[[], object]] = []

    def _keep(callback: Callable[[], object], *, context: Context) -> None:
        _first.append(callback)

    def start_task(
        loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, None], context: Context
    ) -> asyncio.Task[None]:
        """Return a task whose coroutine has run up to its first real wait."""
        attributes = loop.__dict__
        attributes["call_soon"] = _keep
        try:
            task = _Task(coroutine, loop=loop, context=context)
        finally:
            del attributes["call_soon"]
        context.run(_first.pop())
        return task
