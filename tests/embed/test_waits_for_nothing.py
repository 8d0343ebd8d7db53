"""A run that nothing can wake any more says so; every other run does not."""

from __future__ import annotations

import asyncio

import pytest

from fusee import Context, Retry, Signal, workflow
from tests.support.aio import in_loop
from tests.support.steps import Held
from tests.support.worlds import opened

go: Signal[int] = Signal[int]("go")
held = Held()


async def refuse() -> None:
    raise ValueError


@workflow
async def waits_for_an_event_that_nobody_sets(ctx: Context) -> None:
    ctx.on_query("state")(lambda: "answers")
    await ctx.wait_for(go)
    await asyncio.Event().wait()


@workflow
async def waits_for_what_another_task_brings(ctx: Context) -> int:
    queue: asyncio.Queue[int] = asyncio.Queue()

    async def fill() -> None:
        queue.put_nowait(await ctx.wait_for(go))

    filling = asyncio.create_task(fill())
    got = await queue.get()
    await filling
    return got


@workflow
async def waits_for_a_step(ctx: Context) -> None:
    await ctx.step(held, "a")


@workflow
async def waits_for_a_retry(ctx: Context) -> None:
    await ctx.options(retry=Retry(3, initial=60)).step(refuse)


@workflow
async def waits_for_a_plain_timer(ctx: Context) -> None:
    await asyncio.sleep(60)


@workflow
async def forgets_a_step_and_returns(ctx: Context) -> None:
    ctx.step(held, "b")


WAITING = [
    waits_for_what_another_task_brings,
    waits_for_a_step,
    waits_for_a_retry,
    waits_for_a_plain_timer,
    forgets_a_step_and_returns,
]


@in_loop
async def test_a_run_whose_code_waits_for_nothing_that_can_come_says_so_and_where() -> None:
    async with opened(waits_for_an_event_that_nobody_sets) as world:
        run = await world.engine.start(waits_for_an_event_that_nobody_sets, "w")
        await world.settle()
        assert (await run.describe()).waits_for_nothing is None

        await run.signal(go, 1)
        await world.settle()

        info = await run.describe()
        assert (info.status, info.held, info.pending) == ("running", None, [])
        assert info.waits_for_nothing is not None
        assert "test_waits_for_nothing.py" in info.waits_for_nothing
        assert "waits_for_an_event_that_nobody_sets" in info.waits_for_nothing
        assert await run.query("state") == "answers"
        log = world.log

    async with opened(waits_for_an_event_that_nobody_sets, log=log) as world:
        await world.settle()
        again = await world.engine.get("", "w").describe()
        assert again.waits_for_nothing == info.waits_for_nothing


@pytest.mark.parametrize("code", WAITING, ids=lambda w: w.name)
def test_a_run_that_something_can_wake_does_not_say_so(code) -> None:
    @in_loop
    async def claim() -> None:
        async with opened(code) as world:
            run = await world.engine.start(code, "w")
            await world.settle()

            assert (await run.describe()).waits_for_nothing is None

    claim()
