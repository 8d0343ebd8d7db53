"""The demo's proofs catch a payment log that was tampered with; its input is what it claims."""

from __future__ import annotations

import json

from examples.checkout import orders
from examples.checkout.proofs import charged_twice, prove, read_calls, two_inputs, unfinished

ORDERS = ["order-1", "order-2"]


def call(kind: str, key: str, order: str, **more: object) -> str:
    """A line as the payment service writes it."""
    content = {"order": order, "amount": more.pop("amount", "9.90")}
    return json.dumps({"kind": kind, "key": key, "input": content, "status": 200} | more)


GOOD = [
    call("charge", "order-1/1/2", "order-1"),
    call("charge", "order-1/1/2", "order-1", repeat=True),
    call("capture", "order-1/1/5", "order-1", status=503),
    call("capture", "order-1/1/5", "order-1"),
    call("charge", "order-2/1/2", "order-2"),
    call("refund", "order-2/1/5", "order-2"),
]


def test_a_log_with_retries_and_repeats_holds() -> None:
    assert [proof.violations for proof in prove(ORDERS, read_calls(GOOD))] == [[], [], []]


def test_two_amounts_for_one_key_are_seen_even_when_the_service_refused_one() -> None:
    doctored = [*GOOD, call("charge", "order-1/1/2", "order-1", amount="9.91", status=409)]

    (violation,) = two_inputs(read_calls(doctored))
    assert violation.startswith("key order-1/1/2 was called with charge")
    assert "9.90" in violation
    assert "9.91" in violation


def test_one_key_for_a_charge_and_a_refund_is_two_inputs() -> None:
    doctored = [*GOOD, call("refund", "order-1/1/2", "order-1")]

    assert len(two_inputs(read_calls(doctored))) == 1


def test_a_charge_under_a_second_key_is_a_second_charge() -> None:
    doctored = [*GOOD, call("charge", "order-2/2/2", "order-2")]

    assert charged_twice(read_calls(doctored)) == [
        "order-2 was charged 2 times under order-2/1/2, order-2/2/2"
    ]


def test_a_second_key_counts_even_when_it_moved_no_money() -> None:
    doctored = [*GOOD, call("charge", "order-2/2/2", "order-2", status=503)]

    assert len(charged_twice(read_calls(doctored))) == 1


def test_a_charge_that_took_effect_twice_under_one_key_is_seen() -> None:
    doctored = [*GOOD, call("charge", "order-1/1/2", "order-1")]

    assert len(charged_twice(read_calls(doctored))) == 1


def test_an_order_that_is_missing_or_half_done_is_unfinished() -> None:
    assert unfinished(ORDERS, read_calls(GOOD[:4])) == [
        "order-2 was never charged",
        "order-2 was settled 0 times: never",
    ]
    assert unfinished(ORDERS, read_calls(GOOD[:5])) == ["order-2 was settled 0 times: never"]


def test_an_order_both_captured_and_refunded_is_not_finished_well() -> None:
    doctored = [*GOOD, call("refund", "order-1/1/6", "order-1")]

    assert unfinished(ORDERS, read_calls(doctored)) == [
        "order-1 was settled 2 times: capture, refund"
    ]


def test_an_order_that_nobody_placed_is_seen() -> None:
    doctored = [*GOOD, call("charge", "order-3/1/2", "order-3")]

    assert unfinished(ORDERS, read_calls(doctored)) == ["order-3 is not one of ours"]


def test_the_input_file_holds_a_few_hundred_orders_each_once() -> None:
    ids = [order.id for order in orders.load()]

    assert 300 <= len(ids) <= 400
    assert len(set(ids)) == len(ids)
