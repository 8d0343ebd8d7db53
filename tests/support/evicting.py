"""Runs that are evicted while they wait, and notes of which of their handlers ran."""

from __future__ import annotations

import asyncio
import gc
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fusee.loop.gather import install_gather
from fusee.loop.ordered import install_ordered_set
from fusee.loop.wait_for import install_wait_for
from tests.support.loop_host import Run, this_loop

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

install_ordered_set()
install_wait_for()
install_gather()

Log = list[str]


def ctx_call() -> asyncio.Future[Any]:
    """What an operation of ctx does."""
    loop = this_loop()
    return loop.evicted_call() if loop.evicting else loop.create_future()


def evict(main: Coroutine[Any, Any, Any]) -> list[str]:
    """Evict a run that waits; it must make no sound and keep its timers."""
    run = Run(main)
    assert not run.task.done()
    timers = dict(run.host.timers)
    refused = run.loop.evict()
    assert run.host.timers == timers
    assert refused or all(task.done() for task in [run.task])
    assert run.loop.is_closed()
    complaints = run.loop.complaints
    loop, host = run.loop, run.host
    del run
    gc.collect()
    assert complaints == []
    assert loop.take_errors() == []
    assert len(host.timers) == len(timers)
    return refused


class Saga:
    """Notes which of a workflow's handlers ran."""

    def __init__(self) -> None:
        self.finals: Log = []
        self.caught: Log = []
        self.refunds: Log = []

    async def guarded(self, name: str, waiting: Callable[[], Any]) -> None:
        try:
            await waiting()
        except asyncio.CancelledError:
            self.caught.append(f"{name}: CancelledError")
            raise
        except Exception as error:
            self.caught.append(f"{name}: {type(error).__name__}")
            raise
        finally:
            self.finals.append(name)

    async def refund(self, name: str) -> None:
        await ctx_call()
        self.refunds.append(name)

    @asynccontextmanager
    async def resource(self, name: str) -> AsyncIterator[None]:
        try:
            yield
        except Exception:
            self.caught.append(name)
            raise
        finally:
            self.finals.append(name)
            await self.refund(name)
