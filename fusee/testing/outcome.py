"""What one seed says at its end: the contract between the levels and whoever runs them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Stuck(AssertionError):
    """The faults have ended, and something that must come to its end does not."""


class Verdict(StrEnum):
    """How a seed ended."""

    CLEAN = "clean"
    VIOLATION = "violation"
    """A checker found a broken promise."""
    STUCK = "stuck"
    """After the faults ended, something did not converge."""
    CRASHED = "crashed"
    """Our own code raised what nobody expected."""


@dataclass(frozen=True, slots=True)
class SeedOutcome:
    """The end of one seed. Equal for equal seeds, in any process and on any Python."""

    seed: int
    verdict: Verdict
    violations: tuple[str, ...] = ()
    """Sentences; the first one is the headline."""
    trace_hash: int = 0
    counters: dict[str, int] = field(default_factory=dict[str, int])
    """Work and faults: "crashes", "recoveries", "fault:torn", ..."""
    marks: tuple[str, ...] = ()
    """What the seed reached, sorted."""
    trace: tuple[str, ...] = ()
    """The last events as text; empty when the seed is clean."""

    @property
    def is_clean(self) -> bool:
        """Whether nothing is wrong."""
        return self.verdict is Verdict.CLEAN
