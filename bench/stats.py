"""The few statistics used here, and how times are printed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median


def p50(values: Sequence[float]) -> float:
    """The median; NaN without values, which no limit accepts."""
    return float(median(values)) if values else math.nan


def p99(values: Sequence[float]) -> float:
    """The 99th percentile, nearest rank above; NaN without values."""
    if not values:
        return math.nan
    ordered = sorted(values)
    return float(ordered[min(len(ordered) - 1, math.ceil(len(ordered) * 0.99))])


def unrest(took: Sequence[float]) -> float:
    """The median over the 2nd percentile: about 1.2 for a disk in peace, 40 with the CPUs taken."""
    return p50(took) / sorted(took)[len(took) // 50] if took else math.nan


def gaps(stamps: Sequence[int]) -> list[int]:
    """What lies between each stamp and the next."""
    return [after - before for before, after in pairwise(stamps)]


def us(ns: float) -> str:
    """Nanoseconds as people read them."""
    return f"{ns / 1000:.0f} µs" if ns >= 99_500 else f"{ns / 1000:.1f} µs"


def spread(values: Sequence[float]) -> str:
    """The median of rounds with the lowest and highest: how far to trust it."""
    return f"{p50(values):.2f} [{min(values):.2f}-{max(values):.2f}]" if values else "-"
