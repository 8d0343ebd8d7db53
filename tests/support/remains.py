"""What is alive in this process: counted before and after, to see what stayed behind."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import os
import threading
import types
from collections import Counter

from fusee.embed.engine import Engine
from fusee.engine.run import Finished, Run
from fusee.io.attempt import Attempt
from fusee.journal.machine import Machine
from fusee.loop.workflow_loop import WorkflowLoop
from fusee.sdk.activation import Activation
from fusee.sdk.context import Context

WATCHED = (
    Activation,
    Attempt,
    Context,
    Machine,
    Run,
    WorkflowLoop,
    asyncio.Future,
    contextvars.Context,
    types.AsyncGeneratorType,
    types.CoroutineType,
)


async def remains() -> Counter[str]:
    """Count what should not pile up, once everything that is on its way out is gone."""
    for _ in range(3):
        await asyncio.sleep(0)
        gc.collect()
    found: Counter[str] = Counter()
    for thing in gc.get_objects():
        for kind in WATCHED:
            if isinstance(thing, kind):
                found[f"{kind.__module__}.{kind.__name__}"] += 1
    loop = asyncio.get_running_loop()
    found["tasks"] = len(asyncio.all_tasks())
    found["timers"] = sum(not timer.cancelled() for timer in loop._scheduled)
    found["threads"] = threading.active_count()
    found["descriptors"] = len(os.listdir("/proc/self/fd"))
    return found


def journal_bytes(engine: Engine) -> int:
    """Return what the journals of finished runs take, as they were encoded."""
    runs = engine.life.core.table.all()
    return sum(len(run.journal) for run in runs if isinstance(run, Finished))
