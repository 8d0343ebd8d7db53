"""What a dead process still does while it is taken apart leaves no trace in its world."""

from __future__ import annotations

import asyncio

from fusee.testing.host_loop import HostLoop
from fusee.testing.scheduler import Scheduler


def test_a_dead_loop_asks_the_world_for_nothing_however_its_coroutines_unwind():
    scheduler = Scheduler()
    errors: list[object] = []
    loop = HostLoop(scheduler, errors.append, lambda: None)
    unwound: list[str] = []

    async def clings() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            unwound.append("clings")
            loop.call_later(1, unwound.append, "late")
            loop.call_soon(unwound.append, "soon")

    loop.create_task(clings())
    while not loop.iterations:
        scheduler.run_next()
    loop.discard()

    assert unwound == ["clings"]
    assert scheduler.next_due_us() is None
    assert errors == []
