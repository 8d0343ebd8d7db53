"""Code that says when it is unwound: workflows, steps, and the async generators of both."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager

from fusee import Context, Signal, workflow

go = Signal[int]("go")
said: list[str] = []
LOGGER = logging.getLogger("fusee")


@asynccontextmanager
async def told(name: str) -> AsyncIterator[None]:
    said.append(f"{name} begins")
    try:
        yield
    finally:
        LOGGER.warning("%s is unwound", name)
        said.append(f"{name} ends")


async def counts(name: str) -> AsyncIterator[int]:
    async with told(f"generator of {name}"):
        for number in range(1000):
            yield number


async def helper(name: str) -> None:
    async with told(f"task of {name}"):
        await asyncio.sleep(3600)


async def hangs(name: str) -> None:
    async with told(f"step {name}"):
        numbers = counts(name)
        await anext(numbers)
        task = asyncio.create_task(helper(name))
        await asyncio.sleep(3600)
        await task


async def effect(name: str) -> None:
    """A step that nobody may call for the dead."""


def tells_later(name: str) -> Awaitable[None]:
    return hangs(name)


async def asks_for_the_time(name: str) -> None:
    try:
        await asyncio.sleep(3600)
    except BaseException:
        said.append(f"{name} at {time.time():.0f}")
        raise


async def goes_on(name: str) -> None:
    await asyncio.sleep(60)
    said.append(f"{name} goes on")


@workflow
async def both(ctx: Context) -> None:
    await asyncio.gather(ctx.step(goes_on, "one"), ctx.step(goes_on, "other"))


@workflow
async def holds(ctx: Context) -> None:
    async with told(f"run {ctx.info.id}"):
        numbers = counts(f"run {ctx.info.id}")
        await anext(numbers)
        try:
            await ctx.step(hangs, ctx.info.id)
        finally:
            await ctx.step(effect, ctx.info.id)


@workflow
async def holds_later(ctx: Context) -> None:
    await ctx.step(tells_later, ctx.info.id)


@workflow
async def holds_the_time(ctx: Context) -> None:
    await ctx.step(asks_for_the_time, ctx.info.id)
