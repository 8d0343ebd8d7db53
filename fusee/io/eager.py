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

if sys.version_info >= (3, 12):

    def start_task(
        loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, None], context: Context
    ) -> asyncio.Task[None]:
        """Return a task whose coroutine has run up to its first real wait."""
        return asyncio.Task(coroutine, loop=loop, context=context, eager_start=True)

else:

    def start_task(
        loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, None], context: Context
    ) -> asyncio.Task[None]:
        """Return a task whose coroutine has run up to its first real wait."""
        first: list[Callable[[], object]] = []

        def keep(callback: Callable[[], object], *, context: Context) -> None:
            first.append(callback)

        attributes = loop.__dict__
        attributes["call_soon"] = keep
        try:
            task = asyncio.Task(coroutine, loop=loop, context=context)
        finally:
            del attributes["call_soon"]
        context.run(first[0])
        return task
