"""A small workflow for tests in other processes: as many steps as it is told."""

from __future__ import annotations

from fusee import Context, workflow


async def add_one(number: int) -> int:
    return number + 1


@workflow
async def count_up(ctx: Context, count: int) -> int:
    number = 0
    for _ in range(count):
        number = await ctx.step(add_one, number)
    return number
