"""Beginning a coroutine at once, and making it a task only if it really waits.

Most step functions that finish quickly never wait, and a task for each would cost more than
the rest of the step. But code may ask for its task before its first wait (`asyncio.timeout`
does) and must be the same task afterwards. So a spare task, the shell, is current while a
coroutine runs up to its first wait:

    finishes  -> the shell is used again for the next one, unless it was cancelled
    waits     -> the shell goes on with it, from the very future it waits for

A shell is parked on a future of its own until then. `_enter_task` and `_leave_task` are
asyncio's documented means for code that drives tasks.
"""

from __future__ import annotations

import asyncio
from asyncio.tasks import _enter_task, _leave_task
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context
from types import coroutine as as_coroutine
from typing import Any

OnEnd = Callable[[Any, BaseException | None], None]
"""Told what the coroutine returned, or with a second argument what it raised."""

enter = _enter_task
leave = _leave_task


class Shell:
    """A spare task of the application's loop."""

    __slots__ = ("_awaited", "_context", "_coroutine", "_on_end", "_used", "task")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._used = loop.create_future()
        self._coroutine: Coroutine[Any, Any, Any] | None = None
        self.task: asyncio.Task[None] = asyncio.Task(_Begun(self._carry()), loop=loop)

    def carry(
        self, coroutine: Coroutine[Any, Any, Any], awaited: Any, context: Context, on_end: OnEnd
    ) -> None:
        """Go on with a coroutine that has just begun to wait for `awaited`."""
        self._coroutine = coroutine
        self._awaited = awaited
        self._context = context
        self._on_end = on_end
        self._used.set_result(None)

    def discard(self) -> None:
        """End a shell that carries nothing."""
        if not self._used.done():
            self._used.set_result(None)

    async def _carry(self) -> None:
        error: BaseException | None = None
        try:
            await self._used
        except asyncio.CancelledError as cancelled:
            error = cancelled
        if self._coroutine is not None:
            await _resume(self._coroutine, self._awaited, error, self._context, self._on_end)
        elif error is not None:
            raise error


class _Begun(Coroutine[Any, Any, None]):
    """A coroutine that always begins: a task cancelled before its first step would skip its body.

    What it carries would then never end, for whoever waits for it.
    """

    __slots__ = ("_begun", "_coroutine")

    def __init__(self, coroutine: Coroutine[Any, Any, None]) -> None:
        self._coroutine = coroutine
        self._begun = False

    def send(self, value: Any, /) -> Any:
        self._begun = True
        return self._coroutine.send(value)

    def throw(self, *error: Any) -> Any:
        if not self._begun:
            self.send(None)
        return self._coroutine.throw(*error)

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, None]:
        return self._coroutine.__await__()


@as_coroutine
def _resume(
    coroutine: Coroutine[Any, Any, Any],
    awaited: Any,
    error: BaseException | None,
    context: Context,
    on_end: OnEnd,
) -> Generator[Any, Any, None]:
    """Drive the coroutine in its own context: what it waits for, the task waits for."""
    run, send, throw = context.run, coroutine.send, coroutine.throw
    while True:
        if error is None:
            try:
                yield awaited
            except BaseException as thrown:
                error = thrown
        try:
            if error is None:
                awaited = run(send, None)
            else:
                thrown_in, error = error, None
                awaited = run(throw, thrown_in)
        except StopIteration as done:
            on_end(done.value, None)
            return
        except BaseException as ended:
            on_end(None, ended)
            if isinstance(ended, KeyboardInterrupt | SystemExit):
                raise
            return
