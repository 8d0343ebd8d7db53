"""Durations and instants as users write them, as whole microseconds inside.

A negative duration is no wait at all, since `deadline - now` is negative when the
deadline has passed. NaN and infinity are refused: "no limit" is `None`, where a call
takes it. A naive datetime is refused: it means another instant on another machine.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction

_UNITS_US = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
    "w": 604_800_000_000,
}
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(us|ms|s|m|h|d|w)\s*", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
LATEST_US = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
"""The last microsecond of the year 9999, after which Python has no datetimes."""
_TEXT_MAX = 100
_HOW = 'write it like "500ms", "10m", "1h30m" or "7d", as a timedelta, or as seconds'


def to_us(value: str | timedelta | float) -> int:
    """Return a duration in whole microseconds; negative ones are 0.

    Raises `ValueError` for what is no duration or ends after the year 9999 from any start.
    """
    if isinstance(value, str):
        exact: int = _parse(value)
    elif isinstance(value, timedelta):
        exact = value // _MICROSECOND
    elif isinstance(value, bool) or not isinstance(value, (int, float)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"a {type(value).__name__} is not a duration; {_HOW}")
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is not a duration; {_HOW}; None where no limit is meant")
    else:
        exact = round(Fraction(value) * 1_000_000)
    if exact > LATEST_US:
        raise ValueError("the duration ends after the year 9999; None where no limit is meant")
    return max(exact, 0)


def seconds(value: str | timedelta | float) -> float:
    """Return a duration in seconds, under the rules of `to_us`."""
    return to_us(value) / 1_000_000


def _parse(text: str) -> int:
    rest = text.strip()
    negative = rest.startswith("-")
    rest = rest.removeprefix("-")
    total = Fraction(0)
    position = 0
    last = math.inf
    while match := _PART.match(rest, position):
        size = _UNITS_US[match[2]]
        if size >= last:  # "1m1h" and "1m1m" are more likely slips than meant
            break
        total += Fraction(match[1]) * size
        position = match.end()
        last = size
    if not rest or position != len(rest) or len(text) > _TEXT_MAX:
        raise ValueError(f"{text[:_TEXT_MAX]!r} is not a duration; {_HOW}")
    return round(-total if negative else total)


def instant_us(value: datetime) -> int:
    """Return an aware datetime as microseconds since 1970. Raises `ValueError` for naive ones."""
    if not isinstance(value, datetime):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"a {type(value).__name__} is not an instant; pass an aware datetime")
    if value.utcoffset() is None:
        raise ValueError(
            f"{value.isoformat()} has no timezone; use datetime.now(UTC) or .replace(tzinfo=...)"
        )
    return (value - _EPOCH) // _MICROSECOND


def instant(at_us: int) -> datetime:
    """Return microseconds since 1970 as a datetime in UTC."""
    return _EPOCH + timedelta(microseconds=at_us)
