"""`asyncio.wait_for` of 3.12 for runs on 3.11.

3.11 waits in a second task and, when a cancel meets the result, returns the result and forgets the
cancel (python/cpython#86296). One outcome per turn does not exclude that: what the outcome wakes
may cancel the waiting task in the same turn. The second task also starts later than 3.12 starts
the code inline, so the operations of two `wait_for` side by side would interleave differently, and
a run could not move from 3.11 to 3.12.

A loop has no say in what `wait_for` does between its calls, so the function itself has to choose.
Users hold it by many names (`from asyncio import wait_for`), hence its code is exchanged, not a
module's attribute: within a run it does as 3.12, for everyone else it calls the code it had.
"""

from __future__ import annotations

import asyncio
import asyncio.tasks
import sys
from asyncio import _get_running_loop
from types import FunctionType
from typing import TYPE_CHECKING, Any

from fusee.loop.workflow_loop import WorkflowLoop

if TYPE_CHECKING:
    from collections.abc import Callable

_CHOICE = "_fusee_wait_for"


def install_wait_for() -> None:
    """Give `asyncio.wait_for` the meaning of 3.12 within runs; once or many times."""
    if sys.version_info >= (3, 12) or hasattr(asyncio.tasks, _CHOICE):
        return
    wait_for: Any = asyncio.tasks.wait_for
    plain = FunctionType(wait_for.__code__, wait_for.__globals__, "wait_for")

    def choose() -> Callable[..., Any]:
        return _wait_for if isinstance(_get_running_loop(), WorkflowLoop) else plain

    setattr(asyncio.tasks, _CHOICE, choose)
    wait_for.__code__ = _entry.__code__.replace(co_name="wait_for", co_qualname="wait_for")


async def _entry(fut: Any, timeout: float | None) -> Any:
    # Runs with the globals of asyncio.tasks.
    return await _fusee_wait_for()(fut, timeout)  # type: ignore[name-defined]  # noqa: F821


async def _wait_for(fut: Any, timeout: float | None) -> Any:
    if timeout is not None and timeout <= 0:
        # Nothing of a coroutine runs when there is no time for it.
        fut = asyncio.ensure_future(fut)
        if fut.done():
            return fut.result()
        await _cancel_and_wait(fut, loop=asyncio.get_running_loop())
        try:
            return fut.result()
        except asyncio.CancelledError as error:
            raise TimeoutError from error
    async with asyncio.timeout(timeout):
        return await fut


_cancel_and_wait: Any = getattr(asyncio.tasks, "_cancel_and_wait")  # noqa: B009
