"""Prints, as JSON, every order that asyncio could take from a set. Run by test_loop_order."""

from __future__ import annotations

import asyncio
import json
import os
import random

from fusee.loop.gather import install_gather
from fusee.loop.ordered import check_ordered_set, install_ordered_set
from fusee.loop.wait_for import install_wait_for
from tests.support.loop_host import Run, this_loop

TASKS = 12


async def numbered(number: int) -> int:
    await asyncio.sleep(1 + number % 3)
    return number


def spread() -> None:
    """Take numbers, so that those of the tasks do not happen to be dense."""
    for _ in range(13):
        this_loop().create_future()


async def wait_first_completed(seen: list[object]) -> None:
    pending: set[asyncio.Future[int]] = set()
    for number in range(TASKS):
        pending.add(asyncio.ensure_future(numbered(number)))
        spread()
    while pending:
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        seen.append([task.result() for task in done])
        seen.append([task.get_name() for task in pending])


async def as_completed_coroutines(seen: list[object]) -> None:
    async def noting(number: int) -> int:
        seen.append(f"start {number}")
        return await numbered(number)

    coroutines = [noting(number) for number in range(TASKS)]
    seen += [await done for done in asyncio.as_completed(coroutines)]


async def gathers_in_a_set(seen: list[object]) -> None:
    gathers = set()
    for number in range(TASKS):
        gathers.add(asyncio.gather(numbered(number), numbered(number)))
        spread()
    done, _ = await asyncio.wait(gathers)
    seen.extend(gather.result() for gather in done)


async def ready_gathers_as_completed(seen: list[object]) -> None:
    gathers = [asyncio.gather(numbered(number)) for number in range(TASKS)]
    await asyncio.sleep(10)
    seen += [await done for done in asyncio.as_completed(set(gathers))]


async def task_group_abort(seen: list[object]) -> None:
    async def child(number: int) -> None:
        try:
            await asyncio.sleep(100)
        finally:
            seen.append(number)

    async def fails() -> None:
        await asyncio.sleep(1)
        raise ValueError

    try:
        async with asyncio.TaskGroup() as group:
            for number in range(TASKS):
                group.create_task(child(number))
                spread()
            group.create_task(fails())
    except* ValueError:
        pass


async def cancelled_group(seen: list[object]) -> None:
    async def child(number: int) -> None:
        try:
            await asyncio.sleep(100)
        finally:
            seen.append(number)

    async def body() -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(TASKS):
                group.create_task(child(number))
                spread()

    task = asyncio.create_task(body())
    await asyncio.sleep(1)
    task.cancel()
    await asyncio.wait([task])


async def sets_of_the_user(seen: list[object]) -> None:
    tasks = set()
    for number in range(TASKS):
        tasks.add(asyncio.create_task(numbered(number)))
        spread()
    seen += [await task for task in tasks]
    seen.append([task.get_name() for task in frozenset(tasks)])


async def side_by_side_timeouts(seen: list[object]) -> None:
    async def noting(number: int) -> None:
        seen.append(f"start {number}")
        await asyncio.sleep(1 + number % 5)
        seen.append(f"end {number}")

    await asyncio.gather(
        *(asyncio.wait_for(noting(n), 2) for n in range(8)), return_exceptions=True
    )


SCENARIOS = [
    wait_first_completed,
    as_completed_coroutines,
    gathers_in_a_set,
    ready_gathers_as_completed,
    task_group_abort,
    cancelled_group,
    sets_of_the_user,
    side_by_side_timeouts,
]


def main() -> None:
    # Addresses differ from process to process on some systems only.
    litter = [bytearray(random.randrange(64, 4096)) for _ in range(random.randrange(2_000))]
    install_ordered_set()
    install_wait_for()
    install_gather()
    if not os.environ.get("UNCHECKED"):
        check_ordered_set()
    orders = {}
    for scenario in SCENARIOS:
        seen: list[object] = []
        run = Run(scenario(seen))
        run.finish()
        orders[scenario.__name__] = [seen, run.host.started]
    del litter
    print(json.dumps(orders))


if __name__ == "__main__":
    main()
