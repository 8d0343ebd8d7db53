"""Taking a run out of memory: every task unwinds by `Evicted`, and nothing of it is heard.

Closing the coroutines would be simpler and is wrong: GeneratorExit forbids to await, so any
`async with` complains, and order and place are the collector's. Instead every pending task is
woken by an exception that no handler of user code names, and the loop turns until all have ended.

    round   leaf futures, youngest task first  -> Evicted
            ready callbacks                    -> until none, or too many

Usually there is one round. A `finally` that awaits takes another. A task that still lives after
ROUNDS_MAX rounds swallows BaseException; it is reported and kept, since collecting it would throw
GeneratorExit into it at a random place.

Two things keep CancelledError out of user code meanwhile: `cancel` of the run's tasks and futures
does nothing, and all leaves of a round are set before the first callback runs.
"""

from __future__ import annotations

import asyncio
import inspect
from traceback import clear_frames
from typing import TYPE_CHECKING, Any, cast

from fusee.loop.tasks import WorkflowTask

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import AsyncGeneratorType

    from fusee.loop.workflow_loop import WorkflowLoop

ROUNDS_MAX = 100
EVICTED_CALLS_MAX = 1_000
"""Calls on ctx that raise Evicted before one is parked instead, to get out of an endless loop."""
EVICTED_CALLS_AGAIN = 10
"""And after the first one that was parked: a run that swallows everything costs milliseconds."""
CALLBACKS_MIN = 10_000
CALLBACKS_PER_TASK = 20

_set_exception: Any = asyncio.Future.set_exception  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
_leaked: list[WorkflowLoop] = []


class Evicted(BaseException):
    """The run leaves memory. Not an Exception: only `finally` and `except BaseException` see it."""


def leak(loop: WorkflowLoop) -> None:
    """Keep the tasks that refused to unwind alive until the process ends."""
    for task in loop.tasks:
        task._log_destroy_pending = False  # type: ignore[attr-defined]
    _leaked.append(loop)


def unwind(loop: WorkflowLoop) -> list[WorkflowTask[Any]]:
    """Unwind all tasks and async generators of a run; return the tasks that refuse."""
    if not loop.ready and not loop.run_asyncgens and all(task.done() for task in loop.tasks):
        # The usual end: the code has returned and left nothing behind.
        for task in loop.tasks:
            _ended_quietly(task)
        return []
    for task in loop.tasks:
        _finish_if_not_started(task)
    _rounds(loop)
    for _ in range(ROUNDS_MAX):
        agens = [agen for agen in loop.run_asyncgens.take() if not agen.ag_running]
        if not agens:
            break
        # Made directly: the loop starts no tasks for user code any more.
        loop.tasks.extend(WorkflowTask(_throw(agen), loop, "asyncgen") for agen in agens)
        _rounds(loop)
    loop.tasks[:] = [task for task in loop.tasks if not _ended_quietly(task)]
    # A task that waits for one that refuses is not to blame.
    return [task for task in loop.tasks if not isinstance(_leaf(task), asyncio.Task)]


def _rounds(loop: WorkflowLoop) -> None:
    floods = 0
    for _ in range(ROUNDS_MAX):
        pending = [task for task in reversed(loop.tasks) if not task.done()]
        if not pending and not loop.ready:
            return
        _evict_leaves(pending)
        if not _run(loop, CALLBACKS_MIN + CALLBACKS_PER_TASK * len(pending)):
            floods += 1
            if floods > 2:
                return


def _leaf(task: WorkflowTask[Any]) -> asyncio.Future[Any] | None:
    return cast("asyncio.Future[Any] | None", getattr(task, "_fut_waiter"))  # noqa: B009


def _evict_leaves(pending: Iterable[WorkflowTask[Any]]) -> None:
    for task in pending:
        leaf = _leaf(task)
        if leaf is None or leaf.done() or isinstance(leaf, asyncio.Task):
            continue
        leaf.set_exception(Evicted())
        leaf.exception()


def _run(loop: WorkflowLoop, limit: int) -> bool:
    """Run at most `limit` callbacks, dropping their errors; tell whether none is left."""
    ready = loop.ready
    host = asyncio._get_running_loop()
    asyncio._set_running_loop(loop)
    try:
        for _ in range(limit):
            if not ready:
                return True
            handle = ready.popleft()
            if handle.callback is None:
                continue
            try:
                handle.context.run(handle.callback, *handle.args)
            except KeyboardInterrupt:
                raise
            except BaseException:
                pass  # the run is mute
    finally:
        asyncio._set_running_loop(host)
    return not ready


def _finish_if_not_started(task: WorkflowTask[Any]) -> None:
    """End a task whose code has not begun, as if it had raised Evicted in its first line."""
    coro = task.get_coro()
    if task.done() or not inspect.iscoroutine(coro):
        return
    if inspect.getcoroutinestate(coro) == inspect.CORO_CREATED:
        coro.close()
        # Task forbids set_exception so that nobody completes a task but its coroutine, which is
        # closed here. Its first step is still queued and finds the task done.
        _set_exception(task, Evicted())


async def _throw(agen: AsyncGeneratorType[Any, Any]) -> None:
    await agen.athrow(Evicted())


def _ended_quietly(task: WorkflowTask[Any]) -> bool:
    """Tell whether a task has ended, and mark its exception as seen."""
    if not task.done():
        return False
    error = None if task.cancelled() else task.exception()
    if error is not None:
        _free_frames(error)
    return True


def _free_frames(error: BaseException) -> None:
    """Cut an error and what it names as its cause from the frames it passed.

    A frame refers to its tasks and a task's error to the frame: without this an evicted run would
    stay in memory, which it was to leave, until the collector comes.
    """
    todo, seen = [error], {id(error)}
    while todo:
        current = todo.pop()
        clear_frames(current.__traceback__)
        current.__traceback__ = None
        related: list[BaseException | None] = [current.__context__, current.__cause__]
        if isinstance(current, BaseExceptionGroup):
            related.extend(cast("BaseExceptionGroup[BaseException]", current).exceptions)
        for other in related:
            if other is not None and id(other) not in seen:
                seen.add(id(other))
                todo.append(other)
