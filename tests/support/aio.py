"""Tests as coroutines: run to their end, and silent afterwards.

What asyncio only tells when an object is collected ("Task was destroyed", "exception was never
retrieved") fails the test that caused it.
"""

from __future__ import annotations

import asyncio
import functools
import gc
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec

P = ParamSpec("P")
TIME_LIMIT_S = 60.0
"""No test here takes that long, so this tells one that hangs."""


def in_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run a test on an event loop of its own."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        noise: list[str] = []

        async def main() -> None:
            loop = asyncio.get_running_loop()
            loop.set_exception_handler(lambda _, context: noise.append(str(context)))
            async with asyncio.timeout(TIME_LIMIT_S):
                await test(*args, **kwargs)
            gc.collect()

        asyncio.run(main())
        assert not noise, noise

    return run


async def spin(rounds: int = 10) -> None:
    """Let the loop turn a few times."""
    for _ in range(rounds):
        await asyncio.sleep(0)


async def until(claim: Callable[[], bool]) -> None:
    """Let the loop turn until something holds."""
    while not claim():
        await asyncio.sleep(0)
