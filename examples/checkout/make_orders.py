"""Writes orders.jsonl: `python -m examples.checkout.make_orders`. The same orders every time."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from random import Random

from examples.checkout.orders import ORDERS_FILE
from examples.checkout.shop import PRICES

ORDER_COUNT = 360
FIRST_NAMES = (
    "anna", "amadou", "bea", "chiara", "dmitri", "elif", "femke", "goran", "hana", "ines",
    "jonas", "kofi", "lea", "mateo", "noor", "oskar", "priya", "quentin", "rosa", "sami",
)  # fmt: skip
LAST_NAMES = (
    "keller", "diallo", "novak", "rossi", "petrov", "yilmaz", "de-vries", "horvat", "suzuki",
    "costa", "lindqvist", "mensah", "moreau", "garcia", "haddad", "berg", "nair", "dubois",
)  # fmt: skip
CURRENCIES = ("EUR", "EUR", "EUR", "CHF", "GBP", "SEK", "USD")


def main() -> None:
    random = Random(1704)
    placed = datetime(2026, 11, 27, 6, 0, tzinfo=UTC)
    lines: list[str] = []
    for number in range(1, ORDER_COUNT + 1):
        placed += timedelta(seconds=random.expovariate(1 / 95))
        order = {
            "id": f"order-{number:04}",
            "placed_at": placed.isoformat(timespec="seconds"),
            "customer": f"{random.choice(FIRST_NAMES)}.{random.choice(LAST_NAMES)}",
            "sku": random.choice(sorted(PRICES)),
            "qty": random.choices((1, 2, 3, 4, 6, 12), (50, 25, 10, 6, 6, 3))[0],
            "currency": random.choice(CURRENCIES),
        }
        lines.append(json.dumps(order) + "\n")
    ORDERS_FILE.write_text("".join(lines))


if __name__ == "__main__":
    main()
