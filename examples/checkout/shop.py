"""The shop: one workflow and its four steps. This is all an application has to write.

A price is a rate of the moment, so asking twice gives two answers. That is what makes
the demo honest: a price that a crash takes back, after a charge was sent with it, would
show at the payment service as one key with two amounts.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from decimal import Decimal

import fusee
from examples.checkout import payment_client
from examples.checkout.orders import Order
from fusee import Context, Retry, Signal, workflow

PRICES = {
    "tea-assam-250g": Decimal("9.90"),
    "tea-gyokuro-100g": Decimal("24.50"),
    "tea-rooibos-250g": Decimal("7.20"),
    "tea-sencha-200g": Decimal("13.80"),
    "pot-cast-iron-1l": Decimal("64.00"),
    "pot-glass-600ml": Decimal("29.90"),
    "cup-double-wall-2": Decimal("18.00"),
    "strainer-fine": Decimal("6.50"),
}
RATES = {"EUR": 1.0, "CHF": 0.94, "GBP": 0.86, "SEK": 11.2, "USD": 1.09}

at_the_service = Retry(8, initial="20ms", max="300ms")
"""The payment service fails now and then; it knows a repeated call by its key."""

review = Signal[bool]("review")


@dataclass(frozen=True)
class Quote:
    """What the customer pays."""

    amount: Decimal
    currency: str


@dataclass(frozen=True)
class Receipt:
    """How an order ended. `settlement` is the service's id for the capture or the refund."""

    charge: str
    settlement: str
    shipped: bool


@fusee.step(read_only=True)  # changes nothing outside: need not wait for the disk
async def price(order: Order) -> Quote:
    rate = RATES[order.currency] * random.uniform(0.98, 1.02)
    return Quote(round(PRICES[order.sku] * order.qty * Decimal(rate), 2), order.currency)


@fusee.step(retry=at_the_service, timeout="5s")
async def charge(order: str, quote: Quote) -> str:
    body = {"order": order, "amount": str(quote.amount), "currency": quote.currency}
    return await payment_client.call("charge", fusee.current_step().key, body)


@fusee.step(retry=at_the_service)
def ship(order: str, charge_id: str) -> str:  # a plain function runs in a thread of its own
    body = {"order": order, "charge": charge_id}
    return payment_client.call_blocking("capture", fusee.current_step().key, body)


@fusee.step(retry=at_the_service)
def refund(order: str, charge_id: str) -> str:
    body = {"order": order, "charge": charge_id}
    return payment_client.call_blocking("refund", fusee.current_step().key, body)


@workflow
async def checkout(ctx: Context, order: Order) -> Receipt:
    """Charge, give the customer a moment to think, ship if a reviewer agrees."""
    quote = await ctx.step(price, order)
    charge_id = await ctx.step(charge, order.id, quote)
    await ctx.sleep("50ms", name="cool-off")
    if await ctx.wait_for(review, timeout="300ms", default=False):
        return Receipt(charge_id, await ctx.step(ship, order.id, charge_id), shipped=True)
    return Receipt(charge_id, await ctx.step(refund, order.id, charge_id), shipped=False)
