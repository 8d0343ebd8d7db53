"""A program of its own: which task runs what a workflow hands to `asyncio.wait_for`."""

from __future__ import annotations

import asyncio

from fusee import Context, Engine, workflow


@workflow
async def waits(ctx: Context) -> bool:
    outer = asyncio.current_task()

    async def inner() -> bool:
        return asyncio.current_task() is outer

    return await asyncio.wait_for(inner(), 5)


async def main() -> None:
    async with Engine.open(":memory:", workflows=[waits]) as engine:
        print(await engine.run(waits, "w"))


if __name__ == "__main__":
    asyncio.run(main())
