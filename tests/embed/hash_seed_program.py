"""Writes a directory of runs that race, or replays one; prints what the runs saw."""

from __future__ import annotations

import asyncio
import json
import sys

from fusee import Context, Engine, Signal, workflow

go: Signal[str] = Signal[str]("go")


async def work(name: str, rounds: int) -> str:
    for _ in range(rounds):
        await asyncio.sleep(0)
    if name == "fails":
        raise KeyError(name)
    return name


def step(ctx: Context, i: int) -> asyncio.Future[str]:
    return ctx.step(f"s{i}", work, f"{i}", i * 7 % 5)


@workflow
async def waits(ctx: Context) -> list[str]:
    pending = {step(ctx, i) for i in range(12)}
    seen: list[str] = []
    while pending:
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        for op in done:
            seen.append(await ctx.step(f"after {op.result()}", work, op.result(), 0))
    return [*seen, await ctx.wait_for(go)]


@workflow
async def completes(ctx: Context) -> list[str]:
    async def one(i: int) -> str:
        return await step(ctx, i)

    seen: list[str] = []
    for done in asyncio.as_completed([one(i) for i in range(12)]):
        name = await done
        seen.append(await ctx.step(f"after {name}", work, name, 0))
    return [*seen, await ctx.wait_for(go)]


@workflow
async def aborts(ctx: Context) -> list[str]:
    seen: list[str] = []

    async def parks(i: int) -> None:
        try:
            if i % 3 == 0:
                await ctx.step("long", work, "long", 10**9)
            elif i % 3 == 1:
                await ctx.sleep("1d")
            else:
                await ctx.wait_for("never")
        except asyncio.CancelledError:
            seen.append(await ctx.step(f"clean {i}", work, f"{i}", 0))
            raise

    try:
        async with asyncio.TaskGroup() as group:
            for i in range(8):
                group.create_task(parks(i))
            group.create_task(ctx_step(ctx))
    except* KeyError:
        seen.append("failed")
    return [*seen, await ctx.wait_for(go)]


async def ctx_step(ctx: Context) -> None:
    await ctx.step("fails", work, "fails", 4)


ALL = [waits, completes, aborts]


async def write(engine: Engine) -> None:
    for target in ALL:
        await engine.start(target, target.name)
    for target in ALL:
        while True:
            info = await engine.get(target, target.name).describe()
            if any(p.name == "go" for p in info.pending):
                break
            await asyncio.sleep(0)


async def replay(engine: Engine) -> None:
    results = {}
    for target in ALL:
        run = engine.get(target, target.name)
        await run.signal(go, "go", signal_id="go")
        results[target.name] = await run.result(timeout=20)
        info = await run.describe()
        assert info.held is None, info.held_text
    print(json.dumps(results))


async def main(mode: str, directory: str) -> None:
    async with Engine.open(directory, workflows=ALL, drain=0) as engine:
        await (write if mode == "write" else replay)(engine)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
