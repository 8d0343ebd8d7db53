"""The loop of a simulated process ends with it: nothing of a dead process goes on later."""

from __future__ import annotations

import asyncio
import gc

from fusee.testing.host_loop import HostLoop
from fusee.testing.scheduler import Scheduler


def test_a_coroutine_that_awaits_while_it_unwinds_is_unwound_to_its_end() -> None:
    scheduler = Scheduler()
    loop = HostLoop(scheduler, lambda context: None, lambda: None)
    said: list[str] = []

    async def closes_slowly() -> None:
        try:
            await loop.create_future()
        finally:
            try:
                await asyncio.sleep(1)
            finally:
                said.append("ended")

    loop.create_task(closes_slowly())
    while scheduler.run_next():
        pass

    loop.discard()
    said.append("discarded")
    gc.collect()

    assert said == ["ended", "discarded"]


def test_a_coroutine_that_never_ends_is_left() -> None:
    scheduler = Scheduler()
    loop = HostLoop(scheduler, lambda context: None, lambda: None)

    async def stubborn() -> None:
        for _ in range(1000):
            try:
                await loop.create_future()
            except GeneratorExit:
                continue

    task = loop.create_task(stubborn())
    while scheduler.run_next():
        pass

    loop.discard()

    coroutine = task.get_coro()
    assert coroutine is not None
    while coroutine.cr_frame is not None:
        try:
            coroutine.close()
        except RuntimeError:
            continue
