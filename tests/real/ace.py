"""A crash at every persistence call of every short sequence of operations.

python -m tests.real.ace                 sequences of up to 2, a sample of the crashes
python -m tests.real.ace --all           up to 2, every crash
python -m tests.real.ace --all --length 3
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from tests.real.capabilities import why_not
from tests.real.sequences import sequences
from tests.real.syscalls import NEEDS, SETUPS, Place, Report, Series, Work, on_places, run_one
from tests.real.tracing import Injection

CALLS = ("pwritev2", "fsync", "renameat", "write")
_SETUP = SETUPS[0]


def work_of(operations: Sequence[str]) -> Work:
    """Return a sequence as work: the last life repeats it, then ends what it began."""
    lives: list[dict[str, object]] = [
        {
            "workload": "sequence",
            "details": {"operations": list(operations), "is_last": is_last},
        }
        for is_last in (False, True)
    ]
    return Work(*lives)


def run_sequence(
    place: Place, operations: Sequence[str], report: Report, at: Sequence[int] | None
) -> None:
    """Crash at every persistence call of a sequence, or at some of the writes."""
    work = work_of(operations)
    for call in CALLS if at is None else CALLS[:1]:
        for when in count(1) if at is None else at:
            outcome = run_one(place, _SETUP, Injection(call, "kill", when), work)
            report.add(Series(_SETUP, call, "kill"), outcome)
            if outcome.verdict == "broken":
                report.broken[-1] += f"\n    operations: {', '.join(operations)}"
            if not outcome.was_hit:
                break


def run_all(base: Path, length_max: int, at: Sequence[int] | None) -> Report:
    """Run every sequence."""
    report = Report()
    on_places(
        base,
        list(sequences(length_max)),
        lambda place, operations: run_sequence(place, operations, report, at),
    )
    return report


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.real.ace")
    parser.add_argument("--all", action="store_true", help="every crash, not a sample")
    parser.add_argument("--length", type=int, default=2)
    options = parser.parse_args()
    lacking = why_not(*NEEDS)
    if lacking:
        print(f"not here: {lacking}")
        return 1
    with tempfile.TemporaryDirectory(prefix=".fusee-ace-", dir=Path.cwd()) as base:
        began_s = time.monotonic()
        report = run_all(Path(base), options.length, None if options.all else (9, 12))
        print(report)
        print(f"{time.monotonic() - began_s:.0f} s")
    return bool(report.broken)


if __name__ == "__main__":
    sys.exit(main())
