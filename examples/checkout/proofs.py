"""What the payment service's log says about us. Pure: entries in, violations out.

The log is the only witness: it was written by another process, which our crashes do not
touch, and it holds what left the engine rather than what the engine believes.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


@dataclass(frozen=True)
class Call:
    """One line of the log. `repeat` calls got the answer of an earlier one and moved no money."""

    kind: str
    key: str
    order: str
    input: str
    status: int
    repeat: bool

    @property
    def took_effect(self) -> bool:
        return self.status == 200 and not self.repeat


@dataclass(frozen=True)
class Proof:
    """A claim, how many things it was checked on, and what breaks it."""

    claim: str
    checked: str
    violations: list[str]


def read_calls(lines: Iterable[str]) -> list[Call]:
    return [_call(json.loads(line)) for line in lines]


def _call(entry: dict[str, Any]) -> Call:
    content: dict[str, Any] = entry["input"]
    return Call(
        kind=str(entry["kind"]),
        key=str(entry["key"]),
        order=str(content["order"]),
        input=f"{entry['kind']} {json.dumps(content, sort_keys=True)}",
        status=int(str(entry["status"])),
        repeat=bool(entry.get("repeat", False)),
    )


def prove(orders: Sequence[str], calls: Sequence[Call]) -> list[Proof]:
    keys = len({call.key for call in calls})
    return [
        Proof("every order finished", f"{len(orders)} orders", unfinished(orders, calls)),
        Proof("no key saw two inputs", f"{keys:,} keys", two_inputs(calls)),
        Proof("no order charged twice", f"{len(orders)} orders", charged_twice(calls)),
    ]


def unfinished(orders: Sequence[str], calls: Sequence[Call]) -> list[str]:
    """A finished order was charged, and then either captured or refunded, once."""
    by_order = _grouped(calls, lambda call: call.order)
    found: list[str] = []
    for order in orders:
        effects = [call.kind for call in by_order.get(order, []) if call.took_effect]
        if "charge" not in effects:
            found.append(f"{order} was never charged")
        ends = [kind for kind in effects if kind != "charge"]
        if len(ends) != 1:
            found.append(f"{order} was settled {len(ends)} times: {', '.join(ends) or 'never'}")
    strangers = sorted(by_order.keys() - set(orders))
    return found + [f"{order} is not one of ours" for order in strangers]


def two_inputs(calls: Sequence[Call]) -> list[str]:
    """Counts every call that arrived, also those the service failed: it saw their input."""
    return [
        f"key {key} was called with {' and later with '.join(inputs)}"
        for key, group in _grouped(calls, lambda call: call.key).items()
        if len(inputs := list(dict.fromkeys(call.input for call in group))) > 1
    ]


def charged_twice(calls: Sequence[Call]) -> list[str]:
    """One key an order is what a service without idempotency keys would rely on, too."""
    found: list[str] = []
    charges = _grouped(calls, lambda call: call.order, lambda call: call.kind == "charge")
    for order, group in charges.items():
        keys = list(dict.fromkeys(call.key for call in group))
        effects = sum(call.took_effect for call in group)
        if len(keys) > 1 or effects > 1:
            found.append(f"{order} was charged {effects} times under {', '.join(keys)}")
    return found


def _grouped(
    calls: Sequence[Call],
    by: Callable[[Call], str],
    only: Callable[[Call], bool] = lambda call: True,
) -> dict[str, list[Call]]:
    groups: defaultdict[str, list[Call]] = defaultdict(list)
    for call in calls:
        if only(call):
            groups[by(call)].append(call)
    return dict(groups)
