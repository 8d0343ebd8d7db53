"""Names of what a seed has reached, counted.

A rule that is never reached is never tested, however many seeds are clean. So the branches
that matter have names, and a campaign fails if it misses one of them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Marks:
    """A counter of names like "scan:case-2" or "fault:bit-rot"."""

    __slots__ = ("counts",)

    def __init__(self, counts: Mapping[str, int] | None = None) -> None:
        self.counts: Counter[str] = Counter(counts or {})

    def hit(self, name: str, times: int = 1) -> None:
        """Note that `name` was reached."""
        self.counts[name] += times

    def merge(self, other: Marks) -> None:
        """Add what another seed has reached."""
        self.counts.update(other.counts)

    def names(self) -> tuple[str, ...]:
        """Return what was reached, sorted."""
        return tuple(sorted(self.counts))

    def missing(self, wanted: Iterable[str]) -> tuple[str, ...]:
        """Return those of `wanted` that were never reached, sorted."""
        return tuple(sorted(name for name in set(wanted) if name not in self.counts))
