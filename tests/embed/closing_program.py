"""A program with runs parked in sagas; ended from outside, or by one of its own steps."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack

import fusee
from fusee import Context, Engine, workflow


def say(text: str) -> None:
    print(text, flush=True)


async def book(name: str) -> str:
    say(f"booked {name}")
    return name


async def undo(name: str) -> None:
    say(f"UNDONE {name}")


async def slow(name: str) -> str:
    say(f"slow {name} {fusee.current_step().key}")
    await asyncio.sleep(3600)
    return name


async def leaves(name: str) -> None:
    say("leaving")
    await asyncio.sleep(0)
    sys.exit(7)


def leaves_in_a_thread(name: str) -> None:
    say("leaving")
    sys.exit(7)


STEPS = {"slow": slow, "exit": leaves, "exit-thread": leaves_in_a_thread}


@workflow
async def saga(ctx: Context, how: str) -> str:
    try:
        async with AsyncExitStack() as stack:
            await ctx.step(book, "flight")
            stack.push_async_callback(undo_step, ctx, "flight")
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(sleeps(ctx))
                    group.create_task(runs(ctx, how))
            finally:
                await ctx.step(undo, "group")
    except BaseException as error:
        ctx.log.error("caught %r", error)
        await ctx.step(undo, "everything")
        raise
    return "done"


async def undo_step(ctx: Context, name: str) -> None:
    await ctx.step(undo, name)


async def sleeps(ctx: Context) -> None:
    await ctx.sleep("1h")


async def runs(ctx: Context, how: str) -> None:
    await ctx.step(how, STEPS[how], "x")


async def main(directory: str, how: str) -> None:
    async with Engine.open(directory, workflows=[saga], drain=0.05) as engine:
        run = await engine.options(request_id="r").start(saga, "trip", how)
        try:
            await run.result()
        except fusee.EngineStopped as stopped:
            say(f"stopped: {stopped}")
            raise


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
