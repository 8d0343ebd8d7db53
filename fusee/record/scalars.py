"""Plans of values without parts: numbers, text, times, enums, paths, addresses.

The annotation says what comes back: an IntEnum in an `int`, or a subclass of `str` in a
`str`, is stored as the plain value it equals. Whatever would not come back equal is
refused here, before anything is written.
"""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
)
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

import msgspec

from fusee.record.plan import NOTHING, Misfit, Plan, Unfit, class_of

if TYPE_CHECKING:
    from collections.abc import Callable

INT: frozenset[str] = frozenset(("int",))
NULL: frozenset[str] = frozenset(("null",))
TEXT: frozenset[str] = frozenset(("str",))
NUMBER: frozenset[str] = frozenset(("int", "float"))

IP_CLASSES = (IPv4Address, IPv6Address, IPv4Network, IPv6Network, IPv4Interface, IPv6Interface)
PATH_CLASSES = (Path, PurePath, PurePosixPath, PureWindowsPath, type(Path()))

NAIVE = (
    "a datetime without a timezone means another instant on another machine; "
    "use datetime.now(UTC) or .replace(tzinfo=...)"
)
NOT_FINITE = "NaN and infinity have no JSON form; return None or a string for them"


def _write_text_form(value: Any) -> str:
    if isinstance(value, (PurePath, *IP_CLASSES)):
        return str(value)
    raise TypeError(f"a {type(value).__qualname__} cannot be stored")


write = msgspec.json.Encoder(enc_hook=_write_text_form).encode
"""Return the JSON of a lowered value."""


class Scalar(Plan):
    """A type whose every value survives; subclasses of it are stored as the value they equal."""

    __slots__ = ("base", "plainly")

    def __init__(self, base: type, kinds: frozenset[str], plainly: Callable[[Any], Any]) -> None:
        super().__init__(base.__name__, kinds, frozenset((base,)))
        self.base = base
        self.plainly = plainly

    def accepts(self, value: Any) -> bool:
        return isinstance(value, self.base) and not isinstance(value, bool)

    def lower(self, value: Any) -> Any:
        if type(value) is self.base:
            return value
        if not self.accepts(value):
            raise self.misfit(value)
        plain = self.plainly(value)
        if plain != value:
            raise Unfit(f"a {type(value).__qualname__} would come back as another {self.label}")
        return plain

    def lift(self, raw: Any) -> Any:
        return convert(raw, self.base, self.label)


class NoneScalar(Scalar):
    """None."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(type(None), NULL, lambda value: value)
        self.label = "None"


class BoolScalar(Scalar):
    """True and False; an int is not a bool."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(bool, frozenset(("bool",)), bool)

    def accepts(self, value: Any) -> bool:
        return type(value) is bool


class FloatScalar(Scalar):
    """Finite floats, and ints that are exactly a float."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(float, NUMBER, float.__float__)
        self.plain = NOTHING

    def accepts(self, value: Any) -> bool:
        return isinstance(value, (float, int)) and not isinstance(value, bool)

    def lower(self, value: Any) -> Any:
        if not self.accepts(value):
            raise self.misfit(value)
        number = exact_float(value)
        if not math.isfinite(number):
            raise Unfit(NOT_FINITE)
        return number


def exact_float(value: float) -> float:
    """Return the float that equals `value`. Raises `Unfit` if none does."""
    if type(value) is float:
        return value
    try:
        number = float(value)
    except OverflowError:
        number = math.nan
    if number != value and value == value:  # noqa: PLR0124 - NaN is refused by the caller
        raise Unfit("the int is not exactly a float; annotate it as int")
    return number


class DateScalar(Scalar):
    """Dates that are not datetimes."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(date, TEXT, lambda value: date(value.year, value.month, value.day))

    def accepts(self, value: Any) -> bool:
        return isinstance(value, date) and not isinstance(value, datetime)


class DateTimeScalar(Scalar):
    """Aware datetimes. The offset of the moment is kept, the name of the zone is not."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(datetime, TEXT, lambda value: value)
        self.plain = NOTHING

    def lower(self, value: Any) -> Any:
        if not isinstance(value, datetime):
            raise self.misfit(value)
        offset = value.utcoffset()
        if offset is None:
            raise Unfit(NAIVE)
        if type(value) is not datetime:
            value = self._plain(value)
        if offset.seconds % 60 or offset.microseconds:
            # RFC 3339 has whole minutes; msgspec would cut the rest and move the instant.
            try:
                return value.astimezone(UTC)
            except OverflowError:
                raise Unfit("the datetime has no UTC form in years 1 to 9999") from None
        return value

    @staticmethod
    def _plain(value: datetime) -> datetime:
        plain = datetime.combine(
            date(value.year, value.month, value.day),
            time(
                value.hour,
                value.minute,
                value.second,
                value.microsecond,
                value.tzinfo,
                fold=value.fold,
            ),
        )
        if plain != value:
            raise Unfit(f"a {type(value).__qualname__} holds more than a datetime can")
        return plain


class TimeScalar(Scalar):
    """Times of day, naive or with a fixed offset of whole minutes."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(time, TEXT, lambda value: value)
        self.plain = NOTHING

    def lower(self, value: Any) -> Any:
        if type(value) is not time:
            raise self.misfit(value)
        if value.tzinfo is not None:
            offset = value.utcoffset()
            if offset is None or offset.seconds % 60 or offset.microseconds:
                raise Unfit(
                    "the zone of a time is lost without its date; "
                    "store the zone's name beside a naive time"
                )
        return value


class TextForm(Plan):
    """A class that is written as `str(value)` and read by its constructor."""

    __slots__ = ("base",)

    def __init__(self, base: type) -> None:
        plain = (base,) if base in IP_CLASSES else (PurePosixPath, PureWindowsPath, type(Path()))
        super().__init__(
            base.__name__, TEXT, frozenset(cls for cls in plain if issubclass(cls, base))
        )
        self.base = base

    def accepts(self, value: Any) -> bool:
        if self.base in IP_CLASSES:
            # IPv4Interface is a subclass of IPv4Address and writes itself differently.
            return type(value) is self.base
        return isinstance(value, self.base)

    def lower(self, value: Any) -> Any:
        if not self.accepts(value):
            raise self.misfit(value)
        return str(value) if type(value) not in self.plain else value

    def lift(self, raw: Any) -> Any:
        return read_text_form(self.base, raw)


def read_text_form(base: Any, raw: Any) -> Any:
    """Return the path or address that `raw` names. Raises `Unfit`."""
    if type(raw) is not str:
        raise Unfit(f"expected {base.__name__} as text, got {kind_of(raw)}")
    try:
        return base(raw)
    except ValueError as exc:
        raise Unfit(f"{raw[:80]!r} is not a {base.__name__}: {exc}") from None


class Choice(Plan):
    """A Literal."""

    __slots__ = ("values",)

    def __init__(self, values: tuple[Any, ...]) -> None:
        kinds = frozenset(kind_of(value) for value in values)
        super().__init__(f"Literal[{', '.join(map(repr, values))}]", kinds)
        self.values = values

    def accepts(self, value: Any) -> bool:
        return any(type(value) is type(v) and value == v for v in self.values)

    def lower(self, value: Any) -> Any:
        if self.accepts(value):
            return value
        if type(value) in (str, int, bool):
            raise Unfit(f"expected {self.label}, got {value!r:.80}")
        raise self.misfit(value)

    def lift(self, raw: Any) -> Any:
        if not self.accepts(raw):
            raise Unfit(f"expected {self.label}, got {raw!r:.80}")
        return raw


class EnumScalar(Plan):
    """An Enum whose values are all text or all ints, which msgspec reads by itself."""

    __slots__ = ("base",)

    def __init__(self, base: type[Enum]) -> None:
        kind = "str" if all(type(m.value) is str for m in base) else "int"
        super().__init__(base.__qualname__, frozenset((kind,)), frozenset((base,)))
        self.base = base

    def accepts(self, value: Any) -> bool:
        return isinstance(value, self.base)

    def lower(self, value: Any) -> Any:
        if not isinstance(value, self.base):
            raise self.misfit(value)
        return value

    def lift(self, raw: Any) -> Any:
        if kind_of(raw) not in self.kinds:
            raise Unfit(f"{raw!r:.80} is not a value of enum {self.label}")
        try:
            return self.base(raw)
        except ValueError:
            raise Unfit(f"{raw!r:.80} is not a value of enum {self.label}") from None


def convert(raw: Any, cls: Any, label: str) -> Any:
    """Return the plain JSON value `raw` as `cls`, by msgspec's rules. Raises `Unfit`."""
    try:
        return msgspec.convert(raw, cls)
    except msgspec.ValidationError as exc:
        raise Unfit(f"expected {label}, got {kind_of(raw)}: {exc}") from None


_KINDS: dict[type, str] = {
    type(None): "null",
    bool: "bool",
    int: "int",
    float: "float",
    str: "str",
    list: "array",
    dict: "object",
}


def kind_of(raw: Any) -> str:
    """Return which kind of JSON a plain value is."""
    return _KINDS.get(class_of(raw), "object")


def as_array(raw: Any, label: str) -> list[Any]:
    """Return the JSON array. Raises `Misfit` if it is something else."""
    if type(raw) is not list:
        raise Misfit(f"expected {label}, got {kind_of(raw)}")
    return cast("list[Any]", raw)


def as_object(raw: Any, label: str) -> dict[str, Any]:
    """Return the JSON object. Raises `Misfit` if it is something else."""
    if type(raw) is not dict:
        raise Misfit(f"expected {label}, got {kind_of(raw)}")
    return cast("dict[str, Any]", raw)


SCALAR_PLANS: dict[Any, Plan] = {
    type(None): NoneScalar(),
    bool: BoolScalar(),
    int: Scalar(int, INT, int.__int__),
    float: FloatScalar(),
    str: Scalar(str, TEXT, str.__str__),
    bytes: Scalar(bytes, TEXT, lambda value: bytes(bytearray(value))),
    bytearray: Scalar(bytearray, TEXT, bytearray),
    Decimal: Scalar(Decimal, TEXT, Decimal),
    UUID: Scalar(UUID, TEXT, lambda value: UUID(int=value.int)),
    date: DateScalar(),
    datetime: DateTimeScalar(),
    time: TimeScalar(),
    timedelta: Scalar(
        timedelta, TEXT, lambda value: timedelta(value.days, value.seconds, value.microseconds)
    ),
    **{cls: TextForm(cls) for cls in (*IP_CLASSES, *PATH_CLASSES)},
}
SCALAR_PLANS[bytearray].plain = NOTHING
"""The one scalar that can be changed after it was written: it is never handed on as it is."""
