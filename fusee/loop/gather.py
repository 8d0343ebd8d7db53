"""`asyncio.gather` of 3.12 for runs on 3.11.

Over futures that are done already, 3.11 asks the loop to call it back, and 3.12 takes their
outcome at once. So what waits for the gathering goes on a callback later on 3.11, its next
operation comes behind others', and a run could not move from 3.11 to 3.12.
"""

from __future__ import annotations

import asyncio
import asyncio.tasks
import sys
from typing import Any

from fusee.loop.exchange import exchange


def install_gather() -> None:
    """Give `asyncio.gather` the meaning of 3.12 within runs; once or many times."""
    if sys.version_info < (3, 12):
        exchange("gather", _entry, _gather)


def _entry(*futs: Any, return_exceptions: bool = False) -> Any:
    # Runs with the globals of asyncio.tasks.
    return _fusee_gather()(*futs, return_exceptions=return_exceptions)  # type: ignore[name-defined]  # noqa: F821


def _gather(*awaitables: Any, return_exceptions: bool) -> Any:
    loop = asyncio.get_running_loop()
    futures: dict[Any, Any] = {}
    for awaitable in awaitables:
        if awaitable not in futures:
            future: Any = asyncio.ensure_future(awaitable, loop=loop)
            if future is not awaitable:
                future._log_destroy_pending = False
            futures[awaitable] = future
    children = [futures[awaitable] for awaitable in awaitables]
    if not children:
        empty: asyncio.Future[list[Any]] = loop.create_future()
        empty.set_result([])
        return empty
    # Looked up here: `install_ordered_set` puts a class that knows its place there.
    outer: Any = getattr(asyncio.tasks, "_GatheringFuture")(children, loop=loop)  # noqa: B009
    left = len(futures)

    def on_done(future: Any) -> None:
        nonlocal left
        left -= 1
        if outer.done():
            if not future.cancelled():
                future.exception()  # Nobody else will look at it.
        elif not return_exceptions and (error := _error_of(future)) is not None:
            outer.set_exception(error)
        elif left == 0 and outer._cancel_requested:
            # Its own `cancel` came to every child, and they have ended since.
            outer.set_exception(future._make_cancelled_error())
        elif left == 0:
            outer.set_result([_outcome_of(child) for child in children])

    for future in futures.values():
        if not future.done():
            future.add_done_callback(on_done)
    for future in [future for future in futures.values() if future.done()]:
        on_done(future)
    return outer


def _error_of(future: Any) -> BaseException | None:
    if future.cancelled():
        error: BaseException = future._make_cancelled_error()
        return error
    raised: BaseException | None = future.exception()
    return raised


def _outcome_of(future: Any) -> Any:
    error = _error_of(future)
    return future.result() if error is None else error
