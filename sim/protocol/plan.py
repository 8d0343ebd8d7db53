"""What one seed of the protocol level is about: how many members, which faults, how often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fusee.testing.seeds import stream

if TYPE_CHECKING:
    from random import Random

FAMILIES: Final = (
    "cut",
    "cut-one-way",
    "crash",
    "crash-all",
    "delay",
    "disconnect",
    "duplicate",
    "garbage",
    "handover",
    "loss",
    "pause",
    "point",
    "rot",
    "slow-disk",
)
_SWARM_SHARE: Final = 0.8
MS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Plan:
    """Drawn once for a seed, before anything happens. Times in nanoseconds."""

    families: frozenset[str]
    members: int
    batches: int
    load_ns: int
    """Mean time between two batches that clients ask for."""
    window: int
    kept: int
    loss: float
    duplicate: float
    delay_ns: int
    delay_tail: float
    disk_ns: int
    slow_disk: float
    crash_every_ns: int
    cut_every_ns: int
    pause_every_ns: int
    point: float
    """How likely power is lost around a message that matters."""
    rot: float
    """How likely a log is damaged while its member is down."""
    garbage: float
    """How likely a write cut off by a crash leaves its place unreadable."""
    away: int
    """So many members stay down at first when the faults have ended: a quorum must do."""
    wire: bool
    """Messages go through their encoding."""

    def has(self, family: str) -> bool:
        """Whether the seed knows a family of faults."""
        return family in self.families


def draw_plan(seed: int, without: frozenset[str]) -> Plan:
    """Return the plan of a seed. What is switched off changes nothing else."""
    random = stream(seed, "plan")
    is_swarm = random.random() < _SWARM_SHARE
    families = frozenset(family for family in FAMILIES if (not is_swarm or random.random() < 0.6))
    families -= without

    def pick(family: str, *choices: float, otherwise: float = 0.0) -> float:
        drawn = random.choice(choices) if is_swarm else choices[len(choices) // 2]
        return drawn if family in families else otherwise

    members = 3 if random.random() < 0.7 else 5
    is_damaged = "rot" in families or "garbage" in families
    away = random.randrange(0, members // 2 + 1)
    return Plan(
        families=families,
        members=members,
        # A batch that one member cannot read may be held by one that is away alone.
        away=0 if is_damaged else away,
        batches=random.choice((20, 40, 60)),
        load_ns=int(random.choice((1, 4, 15)) * MS),
        window=random.choice((2, 4, 16)),
        kept=_kept(seed),
        loss=pick("loss", 0.02, 0.1, 0.3),
        duplicate=pick("duplicate", 0.02, 0.1, 0.3),
        delay_ns=int(pick("delay", 0.3, 2, 8, otherwise=0.1) * MS),
        delay_tail=pick("delay", 0.0, 0.05, 0.1),
        disk_ns=int(_choice(random, 0.1, 0.5, 3) * MS),
        slow_disk=pick("slow-disk", 0.01, 0.05, 0.1),
        crash_every_ns=int(pick("crash", 60, 200, 800, otherwise=1e9) * MS),
        cut_every_ns=int(pick("cut", 80, 300, 800, otherwise=1e9) * MS),
        pause_every_ns=int(pick("pause", 100, 300, 600, otherwise=1e9) * MS),
        point=pick("point", 0.002, 0.01, 0.05),
        rot=pick("rot", 0.1, 0.3, 0.5),
        garbage=pick("garbage", 0.1, 0.3, 0.5),
        wire=random.random() < 0.2,
    )


def _kept(seed: int) -> int:
    """Return how many decided batches stay in memory: often fewer than others ask for."""
    return stream(seed, "kept").choice((0, 4, 10_000))


def _choice(random: Random, *values: float) -> float:
    return random.choice(values)
