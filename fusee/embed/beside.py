"""Waiting for what blocks without blocking the application's loop."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from fusee.io.surroundings import Aside

T = TypeVar("T")
END_S_MAX = 5.0
"""How long a cancelled wait stays for the work to end. A disk that hangs ends nothing."""


class StillWorking(Exception):
    """The wait was cancelled and the work, which cannot be, has not ended."""


async def beside(
    work: Callable[[], T],
    name: str,
    run_aside: Callable[[Callable[[], None], str], Aside],
    wake: Callable[[Callable[[], None]], object],
) -> T:
    """Do work beside the loop; return or raise what it does.

    When this is cancelled, the work has ended all the same before it returns, so that what it
    used can be released. Raises `StillWorking` from the cancellation where it does not end.
    """
    done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    ended: list[bool] = []

    def report(settle: Callable[[Any], None], outcome: Any) -> None:
        if not done.done():
            settle(outcome)

    def run() -> None:
        settle: Callable[[Any], None] = done.set_result
        try:
            outcome: Any = work()
        except BaseException as error:
            settle, outcome = done.set_exception, error
        ended.append(True)
        wake(functools.partial(report, settle, outcome))

    aside = run_aside(run, name)
    try:
        return await done
    except asyncio.CancelledError as cancelled:
        aside.join(END_S_MAX)
        if not ended:
            raise StillWorking(name) from cancelled
        raise
