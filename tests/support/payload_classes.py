"""Classes as users write them, one of each kind that a payload may hold."""

from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import Enum, Flag, IntEnum, StrEnum
from pathlib import Path
from typing import (
    Any,
    Generic,
    Literal,
    NamedTuple,
    NotRequired,
    TypedDict,
    TypeVar,
)

import attrs
import msgspec
import pydantic
import pytest

from fusee.base.errors import EncodeError
from fusee.record.payload import codec_for

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
