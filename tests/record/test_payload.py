import base64
import io
import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, Flag, IntEnum, StrEnum
from inspect import Parameter
from ipaddress import IPv4Address, IPv6Network
from pathlib import Path, PurePosixPath
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    TypedDict,
    TypeVar,
)
from uuid import UUID
from zoneinfo import ZoneInfo, available_timezones

import attrs
import msgspec
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fusee.base.errors import DecodeError, EncodeError, PayloadTooLarge
from fusee.record.payload import codec_for, register_classes

T = TypeVar("T")


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Mood(StrEnum):
    GOOD = "good"


class Mixed(Enum):
    ONE = 1
    TWO = "two"
    PAIR = (1, Decimal("2.5"))


class Rights(Flag):
    READ = 1
    WRITE = 2


@dataclass(frozen=True)
class Point:
    x: int
    y: int = 0


@dataclass(frozen=True)
class Point3(Point):
    z: int = 0


@dataclass
class Page(Generic[T]):
    items: list[T]
    following: "Page[T] | None" = None
    at: datetime | None = None


@dataclass
class Tree:
    name: str
    children: list["Tree"] = field(default_factory=list)


@dataclass
class Wide:
    price: Decimal
    when: datetime
    tags: frozenset[str]
    by_id: dict[int, Point]
    colour: Colour
    mixed: Mixed
    anything: Any
    raw: bytes
    where: Path


@attrs.define
class Car:
    wheels: int
    made: date = date(2020, 1, 1)
    parts: list[str] = attrs.field(factory=list)


class Pair(NamedTuple):
    left: int
    right: float = 0.5


class Options(TypedDict):
    name: str
    limit: NotRequired[int]


class Cat(msgspec.Struct, tag=True, rename="camel"):
    lives_left: int
    seen: set[str] = set()


class Dog(msgspec.Struct, tag=True):
    lives_left: int


class Row(msgspec.Struct, array_like=True):
    key: str
    value: Any


@dataclass
class Success:
    value: int


@dataclass
class Failed:
    reason: str


class Money(pydantic.BaseModel):
    amount: Decimal
    currency: Literal["EUR", "USD"] = "EUR"
    labels: set[str] = set()
    rate: float | None = None
    at: datetime | None = None


class Aliased(pydantic.BaseModel):
    the_id: int = pydantic.Field(alias="theId")
    internal: str = pydantic.Field(default="", exclude=True)


class Shop(pydantic.BaseModel):
    prices: dict[str, Money] = {}


class Person(pydantic.BaseModel):
    name: str


class Employee(Person):
    salary: int


class Dated(pydantic.BaseModel):
    owner: Person


class Numbers(pydantic.RootModel[list[int]]):
    pass


@dataclass
class Picky:
    """Its field may be changed to what its constructor refuses."""

    a: int

    def __post_init__(self):
        if self.a > 3:
            raise ValueError("too big")


def too_big():
    value = Picky(1)
    value.a = 9
    return value


@dataclass
class Invoice:
    total: Money
    lines: list[Money]
    note: Money | None = None


def same(annotation, value):
    """The value comes back equal, of the same type, from `roundtrip` and from `decode`."""
    codec = codec_for(annotation, where="value")
    data, live = codec.roundtrip(value)
    assert codec.encode(value) == data
    replayed = codec.decode(memoryview(data))
    for got in (live, replayed):
        assert type(got) is type(value)
        assert got == value
    return data


def refused(annotation, value, *words):
    codec = codec_for(annotation, where="result of step 'fetch'")
    with pytest.raises(EncodeError) as caught:
        codec.roundtrip(value)
    for word in ("step 'fetch'", *words):
        assert word in str(caught.value)


# ---------------------------------------------------------------- every type survives


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


# ---------------------------------------------------------------- named refusals


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


# ---------------------------------------------------------------- reading


@pytest.mark.parametrize(
    ("annotation", "data", "words"),
    [
        (Colour, b'"green"', ["Colour", "green"]),
        (list[Level], b"[1,7]", ["Level", "7", "[1]"]),
        (Mixed, b"3", ["Mixed", "3"]),
        (Point, b"{}", ["Point", "x"]),
        (Tree, b'{"name":"a","children":[{"name":1}]}', ["children[0].name"]),
        (Money, b'{"amount":"x"}', ["Money", "amount"]),
        (Invoice, b'{"total":{},"lines":[]}', ["Invoice", "amount"]),
        (int, b"1.0", ["int"]),
        (dict[int, int], b'{"a":1}', ["int"]),
        (Any, b'{"$fusee":["later",1]}', ["later"]),
        (Any, b'{"$fusee":1}', ["tag"]),
        (Any, b"[" * 100_000, ["deep"]),
    ],
)
def test_a_decode_error_names_type_and_field(annotation, data, words):
    with pytest.raises(DecodeError) as caught:
        codec_for(annotation, where="value").decode(data)
    for word in words:
        assert word in str(caught.value)


def test_unknown_fields_are_ignored_and_missing_ones_take_their_default():
    assert codec_for(Point, where="x").decode(b'{"x":1,"zzz":2}') == Point(1, 0)
    assert codec_for(Page, where="x").decode(
        b'{"items":[{"$fusee":["tuple",[]]}],"zzz":2}'
    ) == Page([()])
    assert codec_for(Pair, where="x").decode(b"[1]") == Pair(1)


ANNOTATIONS = [
    Any, int, str, float, bytes, datetime, Decimal, Path, IPv4Address, Colour, Mixed, Point,
    Tree, Wide,
    Page[Point], Car, Pair, Options, Cat | Dog, Row, Success | Failed, Money, Invoice, list[Money],
    dict[int, set[str]], dict[datetime, Any], set, tuple[int, str], Literal["a"], None,
]  # fmt: skip
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["$fusee", "x", "name", "amount", "items"]) | st.text(), inner
        )
        | st.tuples(st.sampled_from(["tuple", "set", "decimal", "object", "dict"]), inner).map(
            lambda pair: {"$fusee": list(pair)}
        )
    ),
    max_leaves=8,
)


@settings(deadline=None, max_examples=150)
@given(st.binary(max_size=60) | JSON_VALUES.map(msgspec.json.encode))
def test_foreign_bytes_give_decode_errors_only(data):
    for annotation in ANNOTATIONS:
        try:
            codec_for(annotation, where="value").decode(data)
        except DecodeError as error:
            assert "value" in str(error)  # noqa: PT017


# ---------------------------------------------------------------- hypothesis

ZONES = st.sampled_from(sorted(available_timezones())).map(ZoneInfo)
OFFSETS = st.timedeltas(timedelta(hours=-23, minutes=-59), timedelta(hours=23, minutes=59)).map(
    timezone
)
MOMENTS = st.datetimes(timezones=ZONES | OFFSETS | st.none(), allow_imaginary=True)


@settings(deadline=None, max_examples=300)
@given(MOMENTS, st.booleans(), st.sampled_from([datetime, Any, list[datetime], dict[str, Any]]))
def test_an_instant_survives_or_is_refused_by_name(moment, whole, annotation):
    if whole:
        moment = moment.replace(microsecond=0)
    value = {list[datetime]: [moment], dict[str, Any]: {"a": moment}}.get(annotation, moment)
    codec = codec_for(annotation, where="value")
    try:
        data, live = codec.roundtrip(value)
    except EncodeError as error:
        named = "timezone" in str(error) or "UTC form" in str(error)
        assert named
        return
    assert moment.tzinfo is not None
    for got in (live, codec.decode(data)):
        back = got[0] if isinstance(got, list) else got["a"] if isinstance(got, dict) else got
        assert type(back) is datetime
        assert back - moment.astimezone(UTC) == timedelta(0)
        assert back.microsecond == moment.microsecond or moment.utcoffset().microseconds


SCALARS = {
    int: st.integers() | st.integers(-(2**200), 2**200),
    float: st.floats(),
    str: st.text(st.characters()) | st.datetimes().map(str) | st.dates().map(str),
    bool: st.booleans(),
    type(None): st.none(),
    bytes: st.binary(),
    Decimal: st.decimals(allow_nan=False),
    UUID: st.uuids(),
    date: st.dates(),
    time: st.times(),
    timedelta: st.timedeltas(),
    Colour: st.sampled_from(Colour),
    Mixed: st.sampled_from(Mixed),
}


def extend(inner):
    def wrap(pair):
        annotation, values = pair
        point = st.builds(Page, st.lists(values, max_size=2))
        return st.sampled_from(
            [
                (list[annotation], st.lists(values, max_size=3)),
                (tuple[annotation, ...], st.lists(values, max_size=3).map(tuple)),
                (tuple[annotation, int], st.tuples(values, SCALARS[int])),
                (dict[str, annotation], st.dictionaries(st.text(), values, max_size=3)),
                (dict[int, annotation], st.dictionaries(st.integers(), values, max_size=3)),
                (annotation | None, values | st.none()),
                (Page[annotation], point),
            ]
        )

    return inner.flatmap(wrap)


PAIRS = st.recursive(
    st.sampled_from(sorted(SCALARS.items(), key=lambda p: str(p[0]))), extend, max_leaves=3
)


def equal(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, Page):
        return equal(a.items, b.items)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a)
    return a == b


@settings(deadline=None, max_examples=400)
@given(PAIRS.flatmap(lambda p: st.tuples(st.just(p[0]), p[1])))
def test_value_and_type_survive_or_a_named_error_comes(pair):
    annotation, value = pair
    for codec in (codec_for(annotation, where="value"), codec_for(Any, where="value")):
        try:
            data, live = codec.roundtrip(value)
        except EncodeError as error:
            assert str(error).startswith("value: ")  # noqa: PT017
            continue
        assert equal(live, value)
        assert equal(codec.decode(data), value)


PLAIN = st.recursive(
    st.one_of(*(s for c, s in SCALARS.items() if c not in (Colour, Mixed))),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text() | st.just("$fusee"), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(deadline=None, max_examples=300)
@given(PLAIN)
def test_without_annotation_value_and_type_survive_or_a_named_error_comes(value):
    codec = codec_for(Any, where="value")
    try:
        data, live = codec.roundtrip(value)
    except EncodeError as error:
        assert str(error).startswith("value: ")  # noqa: PT017
        return
    assert equal(live, value)
    assert equal(codec.decode(data), value)


@settings(deadline=None, max_examples=100)
@given(st.sets(st.text() | st.integers() | st.frozensets(st.integers())))
def test_sets_are_written_the_same_whatever_order_they_iterate_in(items):
    codec = codec_for(Any, where="value")
    turned = set()
    for item in list(items)[::-1]:
        turned.add(item)
    assert codec.encode(items) == codec.encode(turned)
    assert codec.decode(codec.encode(items)) == items


def test_bytes_are_base64():
    assert codec_for(bytes, where="x").encode(b"ab") == b'"' + base64.b64encode(b"ab") + b'"'
