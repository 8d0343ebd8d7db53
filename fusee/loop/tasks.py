"""Tasks and futures that hash by creation number, so that sets of them have one order.

asyncio keeps tasks in sets and hands sets to users, and a set iterates by hash, which by default
is the address: another order in every process. Creation is part of the run and so the same in
every replay. Equality stays identity, so equal numbers of two runs only ever collide.

    asyncio.Future  <- WorkflowFuture  <- Op (the sdk's)
    asyncio.Task    <- WorkflowTask

While a run is evicted, `cancel` does nothing: its tasks unwind by `Evicted`, and a TaskGroup or a
`finally` that cancels its siblings would turn that into CancelledError, which user code catches.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from contextvars import Context

    from fusee.loop.workflow_loop import WorkflowLoop

T = TypeVar("T")

_future_init: Any = asyncio.Future.__init__  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
"""Called directly: `super()` costs a tenth of the constructor on 3.11."""


class WorkflowFuture(asyncio.Future[T]):
    """A future of a run."""

    __slots__ = ("number",)

    def __init__(self, loop: WorkflowLoop) -> None:
        self.number = loop.created = loop.created + 1
        _future_init(self, loop=loop)

    def __hash__(self) -> int:
        return self.number

    def cancel(self, msg: Any | None = None) -> bool:
        """Cancel the future; refused while the run is evicted."""
        if self._loop.evicting:  # type: ignore[attr-defined]
            return False
        return super().cancel(msg)


class WorkflowTask(asyncio.Task[T]):
    """A task of a run. Its default name counts within the run, not within the process."""

    __slots__ = ("number",)

    def __init__(
        self,
        coro: Coroutine[Any, Any, T],
        loop: WorkflowLoop,
        name: str | None = None,
        context: Context | None = None,
    ) -> None:
        number = loop.created = loop.created + 1
        # asyncio registers every task of the process in one WeakSet while it is constructed, and
        # never looks it up there. By number, the first tasks of 10,000 runs would share one hash
        # and registering would take time in proportion to the runs.
        self.number = id(self) >> 4
        super().__init__(coro, loop=loop, name=name or f"Task-{number}", context=context)
        self.number = number

    def __hash__(self) -> int:
        return self.number

    def cancel(self, msg: Any | None = None) -> bool:
        """Request cancellation; refused while the run is evicted."""
        if self._loop.evicting:  # type: ignore[attr-defined]
            return False
        return super().cancel(msg)
