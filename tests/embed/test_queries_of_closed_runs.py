"""A closed run is replayed to be asked something, within a turn like any other."""

from __future__ import annotations

import asyncio

from fusee import Context, Engine, Query, workflow

total = Query[None, int]("total")


@workflow
async def counting(ctx: Context, numbers: list[int]) -> int:
    found = 0
    ctx.on_query(total)(lambda: found)
    for number in numbers:
        found += number
        await ctx.sleep(0.001)
    return found


def test_a_closed_run_answers_as_it_ended():
    async def ask():
        async with Engine.open(":memory:", workflows=[counting]) as engine:
            await engine.run(counting, "c", [1, 2, 3])
            run = engine.get(counting, "c")
            return [await run.query(total) for _ in range(3)], len(await run.journal())

    assert asyncio.run(ask()) == ([6, 6, 6], 3)


def test_a_run_that_begins_answers_in_its_first_turn():
    async def ask():
        async with Engine.open(":memory:", workflows=[counting]) as engine:
            starting = asyncio.ensure_future(engine.start(counting, "c", [5]))
            await starting
            return await engine.get(counting, "c").query(total)

    assert asyncio.run(ask()) == 5
