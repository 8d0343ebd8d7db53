import functools
import math
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pydantic
import pytest

from fusee.base.errors import DecodeError, EncodeError, PayloadMismatch, PayloadTooLarge
from fusee.record.payload import codec_for
from fusee.record.signature import CallSignature, name_of

if TYPE_CHECKING:
    from nowhere import Unknown


@dataclass
class Order:
    id: int
    lines: list[str]


@dataclass
class BigOrder(Order):
    extra: str = ""


class Card(pydantic.BaseModel):
    number: str


async def workflow(
    ctx: "Unknown", order: Order, retries: int = 3, *, price: float = 1.0
) -> Decimal:
    return Decimal(0)


def step(order: Order, a, *rest: int, flag: bool = False, **more: Decimal) -> list[Order]:
    return []


async def simple(a: int, b: str, c: float | None = None) -> None: ...


def positional(a: int, b: int = 2, /, c: int = 3, d: int = 4) -> int:
    return a


def iter_none():
    yield None


class Shop:
    def method(self, order: Order) -> Card:
        return Card(number="1")

    async def __call__(self, card: Card) -> Order:
        return Order(1, [])


WORKFLOW = CallSignature(workflow, skip_first=True)
STEP = CallSignature(step, skip_first=False)
SIMPLE = CallSignature(simple, skip_first=False)


@pytest.mark.parametrize(
    ("fn", "args", "kwargs"),
    [
        (simple, (1, "x"), {}),
        (simple, (1, "x", 2.5), {}),
        (simple, (1,), {"b": "x"}),
        (simple, (), {"b": "x", "a": 1, "c": None}),
        (step, (Order(1, ["a"]), (1, 2)), {}),
        (step, (Order(1, []), {"$fusee": 1}, 1, 2), {"flag": True, "x": Decimal(1)}),
        (positional, (1,), {}),
        (positional, (1,), {"d": 5}),
        (positional, (1, 7), {"d": 5}),
        (functools.partial(simple, 1), ("x",), {}),
        (functools.partial(simple, b="y"), (1,), {"c": 1.0}),
        (Shop().method, (Order(1, []),), {}),
        (Shop(), (Card(number="7"),), {}),
        (Order, (1, ["a"]), {}),
        (max, ([1, 2],), {"default": 3}),
        (lambda: None, (), {}),
        (lambda a, *b, **c: None, ({1, 2}, b"x"), {"d": [(1,)]}),
    ],
)
def test_a_call_comes_back_as_it_was(fn, args, kwargs):
    signature = CallSignature(fn, skip_first=False)
    data = signature.encode_call(args, kwargs)
    again, args2, kwargs2 = signature.snapshot_call(args, kwargs)
    assert again == data
    for got_args, got_kwargs in ((args2, kwargs2), signature.decode_call(memoryview(data))):
        bound = signature._signature.bind(*got_args, **got_kwargs)
        wanted = signature._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        wanted.apply_defaults()
        assert bound.arguments == wanted.arguments
        assert list(map(type, bound.arguments.values())) == list(
            map(type, wanted.arguments.values())
        )


def test_no_arguments_are_no_bytes():
    assert CallSignature(lambda: None, skip_first=False).snapshot_call((), {}) == (b"", (), {})


def test_a_snapshot_does_not_follow_later_changes():
    order, free = Order(1, ["a"]), {"k": [1]}
    data, args, _ = STEP.snapshot_call((order, free), {})
    order.lines.append("b")
    free["k"].append(2)
    assert args == (Order(1, ["a"]), {"k": [1]})
    assert STEP.decode_call(data)[0] == args


def test_a_workflow_keeps_the_defaults_of_its_start():
    data = WORKFLOW.check((Order(1, []),), {})
    assert WORKFLOW.decode_call(data) == ((Order(1, []), 3), {"price": 1.0})
    assert b'"retries":3' in data


def test_a_parameter_added_later_takes_its_default_and_a_required_one_is_named():
    async def newer(ctx: Any, order: Order, retries: int, priority: int = 7) -> None: ...
    async def stricter(ctx: Any, order: Order, owner: str) -> None: ...

    data = WORKFLOW.encode_call((Order(1, []),), {})
    signature = CallSignature(newer, skip_first=True)
    assert signature.decode_call(data) == ((Order(1, []), 3, 7), {})
    with pytest.raises(DecodeError, match="owner"):
        CallSignature(stricter, skip_first=True).decode_call(data)


@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        ((), {}, ["order"]),
        ((Order(1, []), 1, 2), {}, ["too many"]),
        ((Order(1, []),), {"cost": 1}, ["cost"]),
        (({"id": 1},), {}, ["'order'", "Order", "dict"]),
        ((BigOrder(1, []),), {}, ["'order'", "BigOrder"]),
        ((Order("x", []),), {}, ["'order'", "id", "int", "str"]),
        ((Order(1, []), "3"), {}, ["'retries'", "int", "str"]),
        ((Order(1, []), 1.0), {}, ["'retries'", "int", "float"]),
        ((Order(1, []),), {"price": "1"}, ["'price'", "float", "str"]),
    ],
)
def test_a_call_that_does_not_fit_the_workflow_is_refused_before_it_starts(args, kwargs, words):
    for call in (WORKFLOW.check, WORKFLOW.encode_call):
        with pytest.raises(PayloadMismatch) as caught:
            call(args, kwargs)
        for word in ("workflow(order: ", *words):
            assert word in str(caught.value)


def test_int_for_float_is_fine_and_nan_is_named():
    assert WORKFLOW.decode_call(WORKFLOW.check((Order(1, []),), {"price": 2}))[1] == {"price": 2.0}
    with pytest.raises(EncodeError, match="NaN"):
        WORKFLOW.check((Order(1, []),), {"price": math.nan})


def test_a_wrong_call_of_a_step_is_a_type_error_that_shows_the_signature():
    for args in ((1,), (1, "x", 2.0, 3)):
        with pytest.raises(TypeError, match="simple\\(a: int"):
            SIMPLE.snapshot_call(args, {})
    with pytest.raises(EncodeError, match=r"'b'.*expected str, got int"):
        SIMPLE.snapshot_call((1, 2), {})
    untyped = CallSignature(lambda a: None, skip_first=False)
    with pytest.raises(EncodeError, match=r"argument 'a' of step.*generator; return a list"):
        untyped.snapshot_call((iter_none(),), {})


def test_the_limit_counts_the_arguments_together():
    signature = CallSignature(lambda a, b: None, skip_first=False, name="put", limit=100)
    signature.snapshot_call(("x" * 40, "x" * 45), {})
    with pytest.raises(PayloadTooLarge, match="arguments of step 'put' is 101 bytes") as caught:
        signature.snapshot_call(("x" * 40, "x" * 46), {})
    assert (caught.value.size, caught.value.limit) == (101, 100)


def test_an_annotation_that_cannot_be_resolved_is_named_at_registration():
    def bad(order: "Unknown") -> None: ...
    def worse() -> "Unknown": ...

    with pytest.raises(EncodeError, match=r"step '.*bad'.*Unknown.*parameter 'order'"):
        CallSignature(bad, skip_first=False)
    with pytest.raises(EncodeError, match=r"Unknown.*the result"):
        CallSignature(worse, skip_first=False)

    def locks(lock: functools.cached_property) -> None: ...

    with pytest.raises(EncodeError, match="argument 'lock' of step"):
        CallSignature(locks, skip_first=False)


def test_the_result_codec_is_of_what_awaiting_gives():
    def later() -> Awaitable[int]: ...
    async def stream() -> AsyncIterator[int]: ...

    assert STEP.result_codec.decode(STEP.result_codec.encode([Order(1, [])])) == [Order(1, [])]
    assert WORKFLOW.result_codec.label == "Decimal"
    assert CallSignature(later, skip_first=False).result_codec.label == "int"
    assert CallSignature(Shop(), skip_first=False).result_codec.label == "Order"
    with pytest.raises(EncodeError, match=r"result of step .*annotate list"):
        CallSignature(stream, skip_first=False)


def test_classes_of_a_workflows_signature_may_be_used_without_annotation():
    codec = codec_for(Any, where="x")
    assert codec.roundtrip((Order(1, ["x"]),))[1] == (Order(1, ["x"]),)


def test_names_are_those_of_the_function_behind():
    assert name_of(functools.partial(functools.partial(simple, 1), "x")) == "simple"
    assert name_of(Shop()) == "Shop"
    assert name_of(Shop().method) == "Shop.method"


def test_foreign_bytes_give_decode_errors():
    for data in (b"[]", b"{", b'{"order":1}', b"\xff", b"[" * 100_000, b'{"order":{"id":1}}'):
        with pytest.raises(DecodeError):
            WORKFLOW.decode_call(data)
