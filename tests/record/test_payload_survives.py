"""What is written comes back: every type, with and without annotation."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from inspect import Parameter
from ipaddress import IPv4Address, IPv6Network
from pathlib import Path, PurePosixPath
from typing import (
    Annotated,
    Any,
    Literal,
    NewType,
)
from uuid import UUID

import msgspec
import pytest

from fusee.base.errors import DecodeError
from fusee.record.payload import codec_for, register_classes
from tests.support.payload_classes import (
    Aliased,
    Car,
    Cat,
    Colour,
    Dog,
    Failed,
    Invoice,
    Level,
    Mixed,
    Money,
    Mood,
    Numbers,
    Options,
    Page,
    Pair,
    Person,
    Point,
    Rights,
    Row,
    Shop,
    Success,
    Tree,
    Wide,
    refused,
    same,
)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (None, None),
        (bool, True),
        (int, 2**64 + 1),
        (int, -(10**400)),
        (float, 0.1),
        (float, -0.0),
        (float, 5e-324),
        (str, "2024-01-01T00:00:00Z"),
        (str, "null"),
        (str, '"$fusee"'),
        (bytes, b"\x00\xff"),
        (bytearray, bytearray(b"x")),
        (Decimal, Decimal("1.10")),
        (Decimal, Decimal("1e-400")),
        (UUID, UUID(int=7)),
        (Path, Path("/tmp/x")),
        (PurePosixPath, PurePosixPath("a/b")),
        (IPv4Address, IPv4Address("127.0.0.1")),
        (IPv6Network, IPv6Network("2001:db8::/32")),
        (date, date.min),
        (time, time(1, 2, 3, 4)),
        (time, time(1, tzinfo=UTC)),
        (timedelta, timedelta.min),
        (timedelta, timedelta(days=-3, microseconds=1)),
        (Colour, Colour.RED),
        (Level, Level.HIGH),
        (Mood, Mood.GOOD),
        (Mixed, Mixed.PAIR),
        (Rights, Rights.READ | Rights.WRITE),
        (Literal["a", 1, None], 1),
        (Literal[True], True),
        (NewType("Key", str), "k"),
        (Annotated[int, msgspec.Meta(ge=0)], 3),
        (Annotated[int, {}], 3),
        (list[int], [1, 2]),
        (tuple[int, str], (1, "a")),
        (tuple[int, ...], (1, 2)),
        (tuple[()], ()),
        (tuple, (1, (2, 3))),
        (set[int], {3, 1}),
        (frozenset[frozenset[str]], frozenset((frozenset(("a", "b")), frozenset()))),
        (set[tuple[int, str]], {(1, "a"), (2, "b")}),
        (set, {1, "a", None}),
        (dict[int, str], {1: "a", -2: "b"}),
        (dict[float, str], {1.5: "a"}),
        (dict[UUID, int], {UUID(int=1): 1}),
        (dict[date, int], {date(2020, 1, 1): 1}),
        (dict[datetime, int], {datetime(2020, 1, 1, tzinfo=UTC): 1}),
        (dict[Level, int], {Level.LOW: 1}),
        (dict[Colour, set[int]], {Colour.RED: {1}}),
        (dict[Literal["a", "b"], int], {"a": 1}),
        (dict[bytes, int], {b"\xff": 1}),
        (dict[Decimal, Any], {Decimal("1.0"): (1,)}),
        (dict[str, Any], {"b": [1, (2, 3)], "a": {"$fusee": 1}}),
        (dict, {"$fusee": ["decimal", "1"]}),
        (list, [Decimal(1), {"a": b"x"}]),
        (Point, Point(1)),
        (Page[int], Page([1], Page([2]), datetime(2020, 1, 1, tzinfo=UTC))),
        (Page[Point], Page([Point(1, 2)])),
        (Page, Page([(1, 2)], Page([]))),
        (Tree, Tree("a", [Tree("b", [Tree("c")])])),
        (Car, Car(4)),
        (Pair, Pair(1)),
        (Options, {"name": "x"}),
        (Options, {"name": "x", "limit": 3}),
        (Cat, Cat(9, {"b", "a"})),
        (Cat | Dog, Dog(1)),
        (Cat | Dog | None, Cat(1, {"x"})),
        (Row, Row("k", (1, 2))),
        (Row, Row("k", 1)),
        (Success | Failed, Failed("no")),
        (list[Success | Failed | None], [Success(1), None, Failed("x")]),
        (int | float, 1),
        (int | float, 1.0),
        (float | int | None, 1),
        (int | str | list[int] | None, [1]),
        (int | Decimal, Decimal(1)),
        (Path | None, Path("x")),
        (
            Money,
            Money(amount=Decimal("1.10"), labels={"b", "a"}, at=datetime(2020, 1, 1, tzinfo=UTC)),
        ),
        (Money | None, Money(amount=Decimal(1))),
        (Aliased, Aliased(theId=3)),
        (Numbers | None, Numbers([1])),
        (Person | Money, Person(name="x")),
        (Shop, Shop(prices={"a": Money(amount=Decimal(1), labels={"y", "x"})})),
        (list[Money], [Money(amount=Decimal(1))]),
        (Invoice, Invoice(Money(amount=Decimal(2)), [Money(amount=Decimal(3))])),
        (dict[str, Money], {"a": Money(amount=Decimal(2))}),
        (Parameter.empty, {"a": [1, None, True, "x", 1.5]}),
        (
            Wide,
            Wide(
                Decimal("1"),
                datetime(2020, 1, 1, tzinfo=UTC),
                frozenset("abc"),
                {1: Point(1)},
                Colour.RED,
                Mixed.TWO,
                {"a": (1, {2, 3}, {"$fusee": {}})},
                b"x",
                Path("p"),
            ),
        ),
    ],
)
def test_comes_back_as_it_was(annotation, value):
    same(annotation, value)


@pytest.mark.parametrize(
    "value",
    [
        Decimal("1.10"),
        datetime(2020, 1, 1, tzinfo=UTC),
        date(2020, 1, 1),
        time(1),
        timedelta(1),
        UUID(int=1),
        b"x",
        bytearray(b"x"),
        (1, (2,), [3]),
        {1, 2},
        frozenset(("a",)),
        Path("x"),
        PurePosixPath("x"),
        IPv4Address("127.0.0.1"),
        {"$fusee": ["tuple", []]},
        [{"$fusee": {"$fusee": (1,)}}],
        {"a": {"b": [Decimal(1), (b"x", {"c"})]}},
    ],
)
def test_without_annotation_common_types_come_back_as_they_were(value):
    same(Any, value)


def test_none_is_no_bytes_at_all():
    assert codec_for(int | None, where="x").encode(None) == b""
    assert codec_for(Any, where="x").decode(b"") is None
    with pytest.raises(DecodeError, match="int"):
        codec_for(int, where="x").decode(b"")


def test_classes_of_registered_annotations_need_no_annotation():
    register_classes(list[Wide | None] | None, where="workflow 'w'")
    register_classes(Invoice, where="workflow 'w'")
    register_classes(Pair, where="workflow 'w'")
    for value in (Point(1), [Colour.RED, Mixed.PAIR], Pair(1, 1.0), Money(amount=Decimal(1))):
        same(Any, value)


def test_a_class_that_no_annotation_reaches_is_refused_without_annotation():
    @dataclass
    class Local:
        a: int

    refused(Any, Local(1), "annotate", "Local")
    data = b'{"$fusee":["object","os:DirEntry",{}]}'
    with pytest.raises(DecodeError, match="os:DirEntry"):
        codec_for(Any, where="x").decode(data)


def test_an_annotation_says_what_a_subclass_comes_back_as():
    class Text(str):
        __slots__ = ()

    for annotation, value, back in (
        (str, Text("a"), "a"),
        (str, Mood.GOOD, "good"),
        (int, Level.HIGH, 2),
        (float, 3, 3.0),
        (Sequence[int], (1, 2), [1, 2]),
        (Mapping[int, int], {1: 2}, {1: 2}),
    ):
        _, live = codec_for(annotation, where="x").roundtrip(value)
        assert type(live) is type(back)
        assert live == back


def test_what_comes_back_is_never_the_mutable_object_that_went_in():
    for annotation, value in (
        (list[int], [1]),
        (Any, {"a": 1}),
        (Tree, Tree("a")),
        (bytearray, bytearray(b"x")),
    ):
        _, live = codec_for(annotation, where="x").roundtrip(value)
        assert live is not value


def test_bytes_are_base64():
    assert codec_for(bytes, where="x").encode(b"ab") == b'"' + base64.b64encode(b"ab") + b'"'
