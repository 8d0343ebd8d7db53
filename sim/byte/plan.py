"""What one seed is about: which faults it knows, how often they come, how big its log is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fusee.base.limits import BLOCK_SIZE, KIB, MIB
from fusee.log.segment import SegmentSizes
from fusee.log.tags import BLOCK_CONTENT
from fusee.testing.seeds import stream

if TYPE_CHECKING:
    from random import Random

FAMILIES: Final = (
    "beyond",
    "crash-in-open",
    "foreign",
    "garbage",
    "later-build",
    "lost",
    "misdirected",
    "misread",
    "no-space",
    "read-error",
    "rot",
    "slow",
    "snapshot",
    "structure",
    "superblock",
    "unreadable",
    "wipe",
    "write-error",
)
"""Kinds of faults that a seed may know. Power is lost in every seed."""

_RARE: Final = {"snapshot": 0.15, "wipe": 0.15, "structure": 0.5, "later-build": 0.5}
_SWARM_SHARE: Final = 0.8
_BEYOND_SHARE: Final = 0.05
_BIG_SHARE: Final = 0.004
_MODERATE: Final = 0.15


@dataclass(frozen=True, slots=True)
class Plan:
    """Drawn once for a seed, before anything happens."""

    rates: dict[str, float]
    """Family -> probability at each occasion; families that are off are missing."""
    is_beyond: bool
    """Damage may exceed what a single disk promises to survive: stopping is then right."""
    lives: int
    steps_max: int
    sizes: SegmentSizes
    batch_sizes: tuple[int, ...]
    is_buffered: bool
    inline_share: float
    """How many writes end before anything else happens."""
    clones: int

    def rate(self, family: str) -> float:
        """Return how likely a fault of the family is at each occasion."""
        return self.rates.get(family, 0.0)


def draw_plan(seed: int, without: frozenset[str]) -> Plan:
    """Return the plan of a seed. What is switched off changes nothing else."""
    random = stream(seed, "plan")
    is_beyond = random.random() < _BEYOND_SHARE
    rates = _rates(random, without, is_beyond=is_beyond)
    is_big = random.random() < _BIG_SHARE
    first, later = random.choice(((8, 8), (8, 16), (16, 8), (12, 32)))
    first_bytes, next_bytes = first * BLOCK_SIZE, later * BLOCK_SIZE
    batch_sizes: tuple[int, ...] = (0, 60, 700, 3_000, 3_700)
    room = (next_bytes // BLOCK_SIZE - 2) * BLOCK_CONTENT - 400
    # Over a block, over several, and nearly a whole segment.
    batch_sizes += tuple(size for size in (5_000, 9_000, 20_000, room) if size <= room)
    if is_big:
        next_bytes = 10 * MIB
        batch_sizes += (1 * MIB, 8 * MIB - 300 * KIB)
    return Plan(
        rates=rates,
        is_beyond=is_beyond and "beyond" not in without,
        lives=4 if is_big else random.randrange(6, 16),
        steps_max=12 if is_big else random.choice((6, 15, 30, 50)),
        sizes=SegmentSizes(max(first_bytes, 8 * BLOCK_SIZE), next_bytes),
        batch_sizes=batch_sizes,
        is_buffered=random.random() < 0.3,
        inline_share=random.choice((0.2, 0.6, 0.9)),
        clones=random.randrange(1, 6),
    )


def _rates(random: Random, without: frozenset[str], *, is_beyond: bool) -> dict[str, float]:
    is_swarm = random.random() < _SWARM_SHARE
    rates: dict[str, float] = {}
    for family in FAMILIES:
        is_on = not is_swarm or random.random() < 0.5
        rate = random.choice((0.05, 0.2, 0.5)) if is_swarm else _MODERATE
        if is_beyond:
            rate = min(0.8, 2 * rate)
        if is_on and family not in without:
            rates[family] = rate * _RARE.get(family, 1.0)
    return rates
