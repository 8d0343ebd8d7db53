"""A small shop, as `fusee dev` and the tests of the command line run it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import fusee
from fusee import Context, Query, Retry, Signal, workflow

review = Signal[bool]("review")
cart = Query[None, dict[str, int]]("cart")


class Declined(Exception):
    pass


async def price(sku: str) -> str:
    return f"{len(sku)}.90"


@fusee.step(retry=Retry(3, initial="1ms", jitter=0))
async def charge(amount: str) -> str:
    if fusee.current_step().attempt == 1:
        raise Declined("the card is asleep")
    return f"ch_{amount}"


async def refund(amount: str) -> str:
    return amount


@workflow
async def checkout(ctx: Context, sku: str, qty: int = 1) -> str:
    items = {sku[:20]: qty}
    ctx.on_query(cart)(lambda: items)

    @ctx.on_query("broken")
    def broken() -> None:
        raise Declined("no answer today")

    amount = await ctx.step(price, sku)
    paid = await ctx.step(charge, amount)
    approved = await ctx.wait_for(review)
    return f"{paid} {approved}"


@workflow(name="checkout")
async def changed_checkout(ctx: Context, sku: str, qty: int = 1) -> str:
    """What `checkout` must not be changed to while runs of it are open."""
    amount = await ctx.step(price, sku)
    return await ctx.step(refund, amount)


@workflow
async def failing(ctx: Context) -> None:
    raise Declined("as always")


async def touch(path: str, seconds: float) -> str:
    leave(path, "running")
    await asyncio.sleep(seconds)
    leave(path, "done")
    return "done"


def leave(path: str, text: str) -> None:
    Path(path).write_text(text)


@workflow
async def slow(ctx: Context, path: str, seconds: float) -> str:
    return await ctx.step(touch, path, seconds)


async def touch_later(path: str, seconds: float) -> str:
    await asyncio.Event().wait()
    return path


@workflow(name="slow")
async def slow_elsewhere(ctx: Context, path: str, seconds: float) -> str:
    """`slow`, in a process that ends before the step does."""
    return await ctx.options(name="touch").step(touch_later, path, seconds)


workflows = [checkout, failing, slow]
changed = [changed_checkout]
twice = [checkout, changed_checkout]
nothing: list[object] = []
number = 7
