"""Workflows for tests of the simulator. The module is copied for each life of a cold process."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import fusee
from fusee import Context, Query, Retry, Signal, workflow

review = Signal[bool]("review")
progress = Query[None, str]("progress")


@dataclass(frozen=True)
class Order:
    sku: str
    qty: int


@dataclass(frozen=True)
class Quote:
    total: Decimal


@dataclass(frozen=True)
class Receipt:
    charge: str
    quote: Quote


class Declined(Exception):
    """The card."""


@fusee.step(read_only=True)
async def price(order: Order) -> Quote:
    raise AssertionError("stubbed")


@fusee.step(retry=Retry(5, initial="1s", never_on=(Declined,)))
async def charge(quote: Quote) -> str:
    raise AssertionError("stubbed")


@fusee.step
def refund(charge_id: str) -> None:
    raise AssertionError("stubbed")


@workflow
async def checkout(ctx: Context, order: Order) -> Receipt | None:
    stage = "pricing"
    ctx.on_query(progress)(lambda: stage)
    quote = await ctx.step(price, order)
    stage = "charging"
    try:
        charge_id = await ctx.step(charge, quote)
    except Declined:
        return None
    stage = "reviewing"
    if await ctx.wait_for(review, timeout="1d", default=False):
        return Receipt(charge_id, quote)
    await ctx.step(refund, charge_id)
    return None


@workflow
async def strict(ctx: Context, order: Order) -> str:
    return await ctx.step(charge, await ctx.step(price, order))


cache: dict[str, int] = {}


@workflow
async def remembers(ctx: Context, key: str) -> int:
    """Keeps in a global what only its journal may keep: the classic mistake."""
    if key not in cache:
        cache[key] = 1
        await ctx.sleep("1m")
    await ctx.sleep("2m", name="second")
    return cache[key]


@workflow
async def subscription(ctx: Context, months: int) -> int:
    paid = 0
    for _ in range(months):
        await ctx.step(charge, Quote(Decimal(9)))
        paid += 1
        await ctx.sleep("30d")
    return paid
