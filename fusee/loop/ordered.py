"""One order for `asyncio.wait`, `as_completed` and TaskGroup, which keep their members in sets.

Hashing tasks by number does not help before there are tasks: `as_completed(coroutines)` puts the
coroutines in a set and makes tasks in its order. So the modules of asyncio that build such sets
get a global `set`, in front of the builtin, that keeps insertion order while the running loop is a
run's, and is the builtin for everyone else.

    asyncio.tasks       wait, _wait, as_completed     set(fs), set()
                        gather                        its future has no number of its own
    asyncio.taskgroups  TaskGroup                     set(); siblings are aborted in its order

Nothing else in asyncio's tasks, taskgroups, timeouts, queues and locks iterates over a set
(3.11-3.13); `all_tasks` does, and its order is not promised.
"""

from __future__ import annotations

import asyncio
import asyncio.taskgroups
import asyncio.tasks
import builtins
import functools
from asyncio import _get_running_loop
from typing import TYPE_CHECKING, Any

from fusee.loop.ordered_set import OrderedSet
from fusee.loop.workflow_loop import WorkflowLoop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


_PlainGatheringFuture: Any = getattr(asyncio.tasks, "_GatheringFuture")  # noqa: B009


class _GatheringFuture(_PlainGatheringFuture):  # type: ignore[misc]
    """What `gather` returns within a run; it may be a member of a set like any other future."""

    def __init__(self, children: Any, *, loop: WorkflowLoop) -> None:
        self.run_loop = loop
        self.number = loop.created = loop.created + 1
        _PlainGatheringFuture.__init__(self, children, loop=loop)

    def __hash__(self) -> int:
        return self.number

    def cancel(self, msg: Any | None = None) -> bool:
        if self.run_loop.evicting:
            return False
        return bool(_PlainGatheringFuture.cancel(self, msg))


def _gathering_future(children: Any, *, loop: asyncio.AbstractEventLoop) -> object:
    if isinstance(loop, WorkflowLoop):
        return _GatheringFuture(children, loop=loop)
    return _PlainGatheringFuture(children, loop=loop)


def _set(members: Iterable[Any] = ()) -> builtins.set[Any]:
    if isinstance(_get_running_loop(), WorkflowLoop):
        return OrderedSet(members)
    return builtins.set(members)


def install_ordered_set() -> None:
    """Give asyncio the ordered set; once or many times."""
    asyncio.tasks.set = _set  # type: ignore[attr-defined]
    asyncio.taskgroups.set = _set  # type: ignore[attr-defined]
    asyncio.tasks._GatheringFuture = _gathering_future  # type: ignore[attr-defined]


class _NoTimers:
    def now_us(self) -> int:
        return 0

    def start_timer(self, due_us: int, fire: Callable[[], None], name: str) -> int:
        return 0

    def cancel_timer(self, position: int) -> None:
        pass


@functools.cache
def check_ordered_set() -> None:
    """Raise RuntimeError if this Python's asyncio does not use the ordered set any more.

    Looked at once: it takes milliseconds, and the answer belongs to the Python.
    """
    for probe in (_probe_as_completed, _probe_wait, _probe_task_group):
        seen: list[int] = []
        loop = WorkflowLoop(_NoTimers())
        main = loop.create_task(probe(seen))
        loop.run_until_idle()
        if not main.done() or seen != sorted(seen) or len(seen) != _PROBES:
            raise RuntimeError(f"asyncio on this Python has no fixed order: {probe.__name__}")
        main.result()
        loop.close()


_PROBES = 32
"""By chance they are in order once in 10**35."""


async def _probe_as_completed(seen: list[int]) -> None:
    async def note(number: int) -> None:
        seen.append(number)

    for done in asyncio.as_completed([note(number) for number in range(_PROBES)]):
        await done


async def _probe_wait(seen: list[int]) -> None:
    async def same(number: int) -> int:
        return number

    tasks = [asyncio.ensure_future(same(number)) for number in range(_PROBES)]
    # Newest first, so that the order by hash is not the order of insertion.
    done, _ = await asyncio.wait(tasks[::-1])
    seen.extend(_PROBES - task.result() for task in done)


async def _probe_task_group(seen: list[int]) -> None:
    async def park(number: int) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            seen.append(number)

    loop = asyncio.get_running_loop()
    try:
        async with asyncio.TaskGroup() as group:
            for number in range(_PROBES):
                group.create_task(park(number))
                # Spread the hashes over more than the set's table.
                for _ in range(number % 7):
                    loop.create_future()
            await asyncio.sleep(0)
            raise ValueError
    except* ValueError:
        pass
