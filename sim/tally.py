"""What a campaign has done so far: counts, marks, and how much work its seeds did."""

from __future__ import annotations

import statistics
from collections import Counter
from typing import TYPE_CHECKING, Any

from fusee.testing.outcome import SeedOutcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MARKS_SEEDS_MIN = 10_000
"""A campaign this long must have reached every mark of its level."""
WORK_SEEDS_MIN = 1_000
"""From so many seeds on the medians say something."""


class Tally:
    """Merged outcomes. Merging is adding: which worker ran a seed leaves no trace here."""

    def __init__(self) -> None:
        self.seeds = 0
        self.verdicts: Counter[Verdict] = Counter()
        self.counters: Counter[str] = Counter()
        self.marks: Counter[str] = Counter()
        self.failures: list[SeedOutcome] = []
        self.was_interrupted = False
        """Somebody ended the campaign before its time: it is not judged."""
        self._work: dict[str, Counter[int]] = {}

    def add(self, outcome: SeedOutcome) -> None:
        """Add one seed."""
        self.seeds += 1
        self.verdicts[outcome.verdict] += 1
        self.counters.update(outcome.counters)
        self.marks.update(outcome.marks)
        if outcome.is_clean:
            for name, value in outcome.counters.items():
                self._work.setdefault(name, Counter())[value] += 1
        else:
            self.failures.append(outcome)

    def faults(self) -> dict[str, int]:
        """Return faults by kind."""
        prefix = "fault:"
        return {
            name.removeprefix(prefix): count
            for name, count in sorted(self.counters.items())
            if name.startswith(prefix)
        }

    # ------------------------------------------------------------ the work meter

    def median(self, counter: str) -> float:
        """Return what half of the clean seeds did at least."""
        return statistics.median(self._values(counter)) if self._clean() else 0

    def idle_share(self, counter: str) -> float:
        """Return which part of the clean seeds did nothing of this."""
        values = self._values(counter)
        return sum(value == 0 for value in values) / len(values) if values else 0.0

    def histogram(self, counter: str) -> dict[str, int]:
        """Return how many seeds did how much, by powers of two."""
        buckets: Counter[int] = Counter(value.bit_length() for value in self._values(counter))
        return {
            "0" if bits == 0 else f"{1 << bits - 1}-{(1 << bits) - 1}": buckets[bits]
            for bits in sorted(buckets)
        }

    def _clean(self) -> int:
        return self.verdicts[Verdict.CLEAN]

    def _values(self, counter: str) -> list[int]:
        """Return the counter of every clean seed; one that does not name it did nothing."""
        known = self._work.get(counter, Counter())
        values = list(known.elements())
        return values + [0] * (self._clean() - len(values))

    # ------------------------------------------------------------ is the campaign worth its name

    def missing_marks(self, wanted: Iterable[str]) -> list[str]:
        """Return the marks that a campaign of this length must have reached and has not."""
        if self.seeds < MARKS_SEEDS_MIN:
            return []
        return sorted(name for name in wanted if name not in self.marks)

    def idle_work(self, floors: Mapping[str, int]) -> list[str]:
        """Return the kinds of work of which half of the seeds did less than they must."""
        if self.seeds < WORK_SEEDS_MIN:
            return []
        return [
            f"{name}: half of the seeds did at most {self.median(name):g}, the floor is {floor}"
            for name, floor in sorted(floors.items())
            if self.median(name) < floor
        ]

    def summary(self, work: Mapping[str, int]) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "seeds": self.seeds,
            "verdicts": {str(name): count for name, count in sorted(self.verdicts.items())},
            "counters": dict(sorted(self.counters.items())),
            "marks": dict(sorted(self.marks.items())),
            "work": {
                name: {
                    "floor": floor,
                    "median": self.median(name),
                    "idle_share": round(self.idle_share(name), 4),
                    "histogram": self.histogram(name),
                }
                for name, floor in sorted(work.items())
            },
            "failures": [
                {
                    "seed": outcome.seed,
                    "verdict": str(outcome.verdict),
                    "violations": list(outcome.violations),
                    "trace_hash": outcome.trace_hash,
                }
                for outcome in self.failures
            ],
        }
