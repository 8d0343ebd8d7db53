"""The shop's process: opens the engine and works through the orders, a few dozen at a time.

It does not know whether it is the first of its kind or comes after a crash. It starts
every order again; an order that is known is joined, one that is done says so.

    python -m examples.checkout.worker DATA      says what it does in JSON, one event a line
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import threading
import time
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

from examples.checkout import orders
from examples.checkout.shop import Receipt, checkout, review
from fusee import AlreadyFinished, Engine, FuseeError, WorkflowFailed, WorkflowFinished

if TYPE_CHECKING:
    from examples.checkout.orders import Order
    from fusee import Run

IN_FLIGHT = 30
REVIEW_AFTER_S_MAX = 0.15


def say(event: str, **more: object) -> None:
    print(json.dumps({"event": event, **more}), flush=True)


def verdict(order: Order) -> bool | None:
    """What the reviewer says: mostly yes, sometimes no, and sometimes nothing at all."""
    mood = zlib.crc32(order.id.encode()) % 10
    return True if mood < 7 else False if mood < 8 else None


async def give_review(run: Run[Receipt], order: Order) -> None:
    decision = verdict(order)
    if decision is None:
        return
    await asyncio.sleep(random.uniform(0, REVIEW_AFTER_S_MAX))
    with suppress(WorkflowFinished):  # Nobody waits for a review any more.
        # Sent again after a crash, with the same id: the run sees it once.
        await run.signal(review, decision, signal_id=f"review-{order.id}")


async def work_on(engine: Engine, order: Order, slots: asyncio.Semaphore) -> None:
    async with slots:
        try:
            shop = engine.options(on_conflict="use_existing", reuse="reject")
            run = await shop.start(checkout, order.id, order)
            say("joined" if not run.started_by_me else "started", order=order.id)
            await give_review(run, order)
        except AlreadyFinished:
            run = engine.get(checkout, order.id)
        try:
            receipt = await run.result()
        except WorkflowFailed as error:  # The other orders go on; the proofs will tell.
            say("failed", order=order.id, text=f"{error}: {error.__cause__}")
        else:
            say("done", order=order.id, shipped=receipt.shipped)


async def main(data: str) -> None:
    begun = time.perf_counter()
    async with Engine.open(data, workflows=[checkout]) as engine:
        say("open", ms=round((time.perf_counter() - begun) * 1000, 1))
        slots = asyncio.Semaphore(IN_FLIGHT)
        async with asyncio.TaskGroup() as group:
            for order in orders.load():
                group.create_task(work_on(engine, order, slots))


def end_with_parent() -> None:
    """Whoever started us holds our input open: when they are gone, stop at once."""
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=end_with_parent, daemon=True).start()
    try:
        asyncio.run(main(sys.argv[1]))
    except* FuseeError as errors:  # The same one for each order: one line tells it.
        sys.exit(f"the engine gave up: {errors.exceptions[0]!r}")
