"""The first example of the documentation: it type-checks as a user writes it, and it runs."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import fusee
from fusee import Context, Engine, Retry, Signal, workflow


@dataclass(frozen=True)
class Order:
    sku: str
    qty: int


@dataclass(frozen=True)
class Quote:
    total: Decimal


refunded: list[str] = []


async def price(order: Order) -> Quote:
    return Quote(Decimal("9.90") * order.qty)


@fusee.step(retry=Retry(5, max="5m"), timeout="30s")
async def charge(quote: Quote) -> str:
    key = fusee.current_step().key
    return f"ch_{key}_{quote.total}"


async def refund(charge_id: str) -> None:
    refunded.append(charge_id)


review = Signal[bool]("review")


@workflow
async def checkout(ctx: Context, order: Order) -> str | None:
    quote = await ctx.step(price, order)
    charge_id = await ctx.step(charge, quote)
    await ctx.sleep("1ms", name="cool-off")
    if await ctx.wait_for(review, timeout="1d", default=False):
        return charge_id
    await ctx.step(refund, charge_id)
    return None


async def main(directory: Path, approved: bool) -> str | None:
    async with Engine.open(directory, workflows=[checkout]) as engine:
        run = await engine.start(checkout, "order-123", Order("tea", 2))
        await run.signal(review, approved)
        print(await run.result())
    async with Engine.open(directory, workflows=[checkout]) as engine:
        return await engine.get(checkout, "order-123").result()


def test_an_approved_order_is_charged_once_and_known_after_a_restart(tmp_path: Path) -> None:
    assert asyncio.run(main(tmp_path / "data", approved=True)) == "ch_order-123/1/2_19.80"


def test_a_rejected_order_is_refunded(tmp_path: Path) -> None:
    refunded.clear()

    assert asyncio.run(main(tmp_path / "data", approved=False)) is None

    assert refunded == ["ch_order-123/1/2_19.80"]
