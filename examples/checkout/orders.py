"""The input: one order a line in orders.jsonl, as a shop's export would have it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

ORDERS_FILE = Path(__file__).with_name("orders.jsonl")


@dataclass(frozen=True)
class Order:
    """What a customer wants."""

    id: str
    placed_at: str
    customer: str
    sku: str
    qty: int
    currency: str


def load(path: Path = ORDERS_FILE) -> list[Order]:
    """Read the orders; a line that is not an order is an error that names its field."""
    decode = msgspec.json.Decoder(Order).decode
    return [decode(line) for line in path.read_bytes().splitlines()]
