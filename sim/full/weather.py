"""What goes wrong in one seed of the full level, and how its world is furnished."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from fusee.log.segment import SegmentSizes
from fusee.testing.world import Settings

if TYPE_CHECKING:
    from random import Random

FAMILIES: Final = (
    "crash", "flush-fail", "garbage", "damage", "evict", "clock", "slow", "ties", "close",
)  # fmt: skip
"""Kinds of faults that a command line can switch off."""


@dataclass(slots=True)
class Weather:
    """What one seed draws: which faults there are, and how often."""

    chances: dict[str, float] = field(default_factory=dict[str, float])
    flush_fail: float = 0.0
    damage: float = 0.0
    evict: float = 0.0
    clock_us: int = 0
    closings: int = 0
    """How often the process is closed in order, in the middle of its work."""
    settings: Settings = field(default_factory=Settings)


def draw_weather(random: Random, without: frozenset[str]) -> Weather:
    """Draw a seed's faults: four of five seeds lack whole families, the fifth has all a little."""
    is_swarm = random.random() < 0.8

    def family(name: str) -> bool:
        drawn = random.random() < 0.5 if is_swarm else True
        return drawn and name not in without

    chances: dict[str, float] = {}
    strength = random.choice([0.02, 0.05, 0.15]) if is_swarm else 0.04
    points = (
        ("before-write", 1.0), ("in-write", 1.5), ("after-write", 1.0), ("append", 0.5),
        ("iteration", 0.05), ("before-call", 0.5), ("after-call", 1.5), ("before-ack", 2.0),
        ("after-ack", 1.0),
    )  # fmt: skip
    for point, share in points:
        if (not is_swarm or random.random() < 0.6) and "crash" not in without:
            chances[point] = strength * share
    flush_ns = random.choice([60_000, 80_000, 150_000, *([500_000, 3_000_000] * family("slow"))])
    # The largest batch must fit a segment, as with the real sizes it does by far.
    usual = [(128, 256), (256, 256), (256, 512)]
    sizes = (128, 8192) if random.random() < 0.15 else random.choice(usual)
    return Weather(
        chances,
        random.choice([0.005, 0.03]) if family("flush-fail") else 0.0,
        random.choice([0.1, 0.4]) if family("damage") else 0.0,
        random.choice([0.01, 0.06]) if family("evict") else 0.0,
        random.choice([1_000, 10_000_000, 3_600_000_000]) if family("clock") else 0,
        random.choice([1, 5]) if family("close") else 0,
        Settings(
            sizes=SegmentSizes(first_bytes=sizes[0] * 1024, next_bytes=sizes[1] * 1024),
            flush_ns=flush_ns,
            is_buffered=random.random() < 0.3,
            garbage=0.2 if family("garbage") else 0.0,
            sync_threads=random.choice([1, 4]),
            async_steps=random.choice([2, 1000]),
            clock_look_s=1.0,
            turns_max=random.choice([1, 2, 64, 64, 64, 64]),
            restart_us_max=random.choice([1_000, 1_000_000, 3_600_000_000]),
            shuffles_ties=family("ties") and random.random() < 0.3,
        ),
    )
