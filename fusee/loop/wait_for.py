"""`asyncio.wait_for` of 3.12 for runs on 3.11.

3.11 waits in a second task and, when a cancel meets the result, returns the result and forgets the
cancel (python/cpython#86296). One outcome per turn does not exclude that: what the outcome wakes
may cancel the waiting task in the same turn. The second task also starts later than 3.12 starts
the code inline, so the operations of two `wait_for` side by side would interleave differently, and
a run could not move from 3.11 to 3.12.
"""

from __future__ import annotations

import asyncio
import asyncio.tasks
import sys
from typing import Any

from fusee.loop.exchange import exchange


def install_wait_for() -> None:
    """Give `asyncio.wait_for` the meaning of 3.12 within runs; once or many times."""
    if sys.version_info < (3, 12):
        exchange("wait_for", _entry, _wait_for)


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
