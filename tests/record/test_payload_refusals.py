"""What would not come back as it was is refused by name, with the fix."""

import io
import math
import threading
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import (
    Annotated,
    Any,
    Literal,
)
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
import pytest

from fusee.base.errors import EncodeError, PayloadTooLarge
from fusee.record.payload import codec_for
from tests.support.payload_classes import (
    Cat,
    Dated,
    Dog,
    Employee,
    Level,
    Money,
    Options,
    Page,
    Person,
    Picky,
    Point,
    Point3,
    refused,
    too_big,
)


def generator():
    yield 1


@pytest.mark.parametrize(
    ("annotation", "value", "words"),
    [
        (float, math.nan, ["NaN"]),
        (float, math.inf, ["infinity"]),
        (float | None, math.nan, ["NaN"]),
        (Any, [{"a": math.nan}], ["NaN", "[0]['a']"]),
        (list[float], [1.0, math.inf], ["[1]"]),
        (float, 2**63 + 1, ["int"]),
        (float, 10**309, ["int"]),
        (dict[float, int], {math.nan: 1}, ["key"]),
        (datetime, datetime(2020, 1, 1), ["timezone"]),
        (Any, datetime(2020, 1, 1), ["timezone"]),
        (Page[int], Page([], at=datetime(2020, 1, 1)), ["at", "timezone"]),
        (time, time(1, tzinfo=ZoneInfo("Europe/Paris")), ["zone"]),
        (Money, Money(amount=Decimal(1), rate=math.nan), ["NaN"]),
        (Money, Money(amount=Decimal(1), at=datetime(2020, 1, 1)), ["timezone"]),
        (str, "\ud800", ["surrogate"]),
        (Any, {"a": ["\ud800"]}, ["surrogate"]),
        (Any, {"\ud800": 1}, ["surrogate"]),
        (dict, {1: 2}, ["key 1", "dict[int"]),
        (Any, {(1, 2): 2}, ["key (1, 2)"]),
        (dict[str, int], {1: 2}, ["key 1"]),
        (Any, generator(), ["generator", "list"]),
        (list[int], generator(), ["generator", "list"]),
        (Any, lambda: 1, ["function"]),
        (Any, math, ["module"]),
        (Any, threading.Lock(), ["lock"]),
        (Any, io.StringIO(), ["file"]),
        (Any, object(), ["annotate"]),
        (Any, 1j, ["complex"]),
        (int, "1", ["int", "str"]),
        (int, True, ["int", "bool"]),
        (int, 1.0, ["float"]),
        (str, datetime(2020, 1, 1, tzinfo=UTC), ["str", "datetime"]),
        (str, b"x", ["bytes"]),
        (str, None, ["None"]),
        (date, datetime(2020, 1, 1, tzinfo=UTC), ["date"]),
        (list[int], {1}, ["list", "set"]),
        (list[int], (1,), ["list", "tuple"]),
        (tuple[int, int], (1,), ["tuple"]),
        (Point, Point3(1), ["Point3", "subclass"]),
        (Point, Point("x"), ["x", "int", "str"]),  # type: ignore[arg-type]
        (Options, {"name": "x", "other": 1}, ["other"]),
        (Options, {"limit": 1}, ["name"]),
        (Literal["a"], "b", ["'b'"]),
        (Cat | Dog, Point(1), ["Cat", "Point"]),
        (Annotated[int, msgspec.Meta(ge=0)], -1, [">= 0"]),
        (Picky, too_big(), ["too big"]),
        (Dated, Dated(owner=Employee(name="x", salary=1)), ["owner"]),
        (Person, Employee(name="x", salary=1), ["Employee"]),
    ],
)
def test_what_would_change_is_refused_with_the_fix(annotation, value, words):
    refused(annotation, value, *words)


def test_recursion_is_refused():
    value = []
    value.append(value)
    refused(Any, value, "itself")
    refused(list[Any], value, "itself")


def test_an_int_that_python_will_not_print_is_refused():
    refused(int, 10**5000, "digits")
    refused(Any, [10**5000], "digits")


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (str | datetime, ["str", "datetime", "ambiguous"]),
        (bytes | UUID, ["ambiguous"]),
        (list[int] | tuple[int, ...], ["ambiguous"]),
        (Point | Point3, ["Point3", "ambiguous"]),
        (Point | dict[str, int], ["ambiguous"]),
        (Level | int, ["ambiguous"]),
        (dict[tuple[int, int], str], ["key"]),
        (dict[bool, str], ["key"]),
        (complex, ["float"]),
        (Exception, ["raise"]),
        (threading.Thread, ["Thread"]),
        (list["Missing"], ["Missing"]),  # noqa: F821
        ("int", ["int"]),
    ],
)
def test_annotations_that_could_not_be_read_back_are_refused_at_once(annotation, words):
    with pytest.raises(EncodeError) as caught:
        codec_for(annotation, where="result of step 'fetch'")
    for word in ("step 'fetch'", *words):
        assert word in str(caught.value)


def test_the_limit_is_exact_and_named():
    codec = codec_for(str, where="result of step 'big'", limit=100)
    assert len(codec.encode("x" * 98)) == 100
    for call in (codec.encode, codec.roundtrip):
        with pytest.raises(PayloadTooLarge, match="step 'big'") as caught:
            call("x" * 99)
        assert (caught.value.size, caught.value.limit) == (101, 100)
    with pytest.raises(PayloadTooLarge):
        codec_for(list[float], where="x", limit=10).roundtrip([1.5] * 10)
