"""What goes wrong, and when: a plan is asked at each named point whether the process dies there.

    before-write   the device was asked to write, and nothing has landed
    in-write       some of the write has landed
    after-write    all of it has landed, and nobody was told
    append         a turn was appended, and is not durable
    iteration      between two iterations of the process's loop
    before-call    a step is about to be called
    after-call     it has acted, and nobody was told
    before-ack     something is durable, and its caller was not told
    after-ack      its caller has the answer

A plan is told the point and how often it was passed in this life.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from random import Random

POINTS: Final = (
    "before-write",
    "in-write",
    "after-write",
    "append",
    "iteration",
    "before-call",
    "after-call",
    "before-ack",
    "after-ack",
)


class FaultPlan(Protocol):
    """Decides over life and death."""

    def dies(self, life: int, point: str, passed: int) -> bool:
        """Whether the process dies at a point that it passes for the `passed`-th time."""
        ...

    def fails(self, life: int, passed: int) -> bool:
        """Whether the `passed`-th write of a life fails instead."""
        ...


class Peace:
    """Nothing goes wrong."""

    def dies(self, life: int, point: str, passed: int) -> bool:
        """Never."""
        return False

    def fails(self, life: int, passed: int) -> bool:
        """Never."""
        return False


@dataclass
class RandomPlan:
    """Draws at each point; after `deaths_max` deaths there is peace, so that things finish."""

    random: Random
    chances: dict[str, float]
    """Of dying, by point."""
    flush_fail: float = 0.0
    deaths_max: int = 20
    deaths: Counter[str] = field(default_factory=Counter[str])
    doomed: str = ""
    """A point at which the process dies the next time it passes there."""

    def dies(self, life: int, point: str, passed: int) -> bool:
        """Draw."""
        if point == self.doomed:
            self.doomed = ""
            self.deaths[point] += 1
            return True
        chance = self.chances.get(point, 0.0)
        if not chance or self.deaths.total() >= self.deaths_max or self.random.random() >= chance:
            return False
        self.deaths[point] += 1
        return True

    def fails(self, life: int, passed: int) -> bool:
        """Draw."""
        if not self.flush_fail or self.deaths.total() >= self.deaths_max:
            return False
        if self.random.random() >= self.flush_fail:
            return False
        self.deaths["failed-write"] += 1
        return True
