"""Workflows whose journals are replayed. What the environment says stands for changed code."""

from __future__ import annotations

import asyncio
import os

from fusee import Context, Signal, workflow

go = Signal[int]("go")


async def double(x: int) -> int:
    return 2 * x


@workflow
async def chain(ctx: Context, x: int) -> int:
    changed = os.environ.get("FLOW", "")
    if changed == "added first":
        await ctx.step("audit", double, x)
    x = await ctx.step(double, x)
    if changed == "added last":
        await ctx.step("audit", double, x)
    return x


@workflow
async def waits(ctx: Context) -> int:
    done = await ctx.step(double, 1)
    return done + await ctx.wait_for(go)


@workflow
async def unordered(ctx: Context) -> None:
    names = {"alpha", "beta", "gamma", "delta"}
    # Sorted as the journal was written; a set's order depends on the hash seed.
    order = sorted(names) if os.environ.get("FLOW") == "sorted" else list(names)
    await asyncio.gather(*(ctx.step(name, double, 1) for name in order))
