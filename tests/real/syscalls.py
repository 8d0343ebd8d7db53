"""One fault at the n-th system call of a fixed workload, for every call and every n.

    python -m tests.real.syscalls            a spread sample, as CI runs it
    python -m tests.real.syscalls --all      everything, until a run survives
    python -m tests.real.syscalls --all --only 'pwritev2 lost'

The workload is the shop (tests/support/shop.py): five starts, effectful and read-only steps, a
gather, retries, sleeps, signals from outside and between runs, queries, refusals and a failing
run, some thirty operations on segments so small that several are made.

After each fault: the disk is judged against everything that had left the victim. Then a life
without faults must finish every run, and the disk is judged again. Verdicts:

    kept       every promise held; an engine that got an error stopped or refused to open
    found      a write that was reported and never made: the next open refused the directory
    outside    the same in the very last frame: no later one witnesses it, and the disk lied
    broken     anything else
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from fusee.base.errors import AcknowledgedDataLost, DirectoryRefused
from fusee.io.methods import Method
from tests.real.capabilities import why_not
from tests.real.judge import Judge, facts_on_disk
from tests.real.lives import INLINE_NS, THREAD_NS, Bench, Life, calibrate_as
from tests.real.tracing import Injection, Trace, traced
from tests.real.victim import FINISHED, REFUSED, TINY
from tests.support.facts import Facts

NEEDS = ("linux", "strace")
DATA = {Method.DIRECT: ("pwritev2",), Method.BUFFERED: ("pwrite64", "fdatasync")}
NAMES = ("fsync", "write", "renameat", "openat", "ftruncate", "unlinkat", "mkdir", "fallocate")
WATCHED = "pwritev2,pwrite64,fsync,fdatasync,write,rename,renameat,renameat2,openat,ftruncate,\
unlink,unlinkat,mkdir,fallocate,preadv2"
_DURABLE = ("pwritev2", "pwrite64", "fdatasync", "fsync")
JOBS = min(4, os.cpu_count() or 1)
T = TypeVar("T")


@dataclass(frozen=True)
class Setup:
    """On what the workload runs."""

    method: Method
    flush_ns: int = INLINE_NS
    is_used: bool = False
    """Whether the directory has been used before, so that only later files are made."""
    is_product_size: bool = False
    is_absent: bool = False
    """Whether there is no directory yet: it is made, and its disk measured."""

    def __str__(self) -> str:
        where = "inline" if self.flush_ns == INLINE_NS else "thread"
        size = " 4 MiB" if self.is_product_size else ""
        age = "absent" if self.is_absent else "used" if self.is_used else "new"
        return f"{self.method}/{where}/{age}{size}"

    @property
    def sizes(self) -> tuple[int, int] | None:
        return None if self.is_product_size else TINY


SETUPS = (
    Setup(Method.DIRECT),
    Setup(Method.DIRECT, is_used=True),
    Setup(Method.DIRECT, THREAD_NS),
    Setup(Method.BUFFERED),
    Setup(Method.BUFFERED, is_used=True),
    Setup(Method.DIRECT, is_product_size=True),
    Setup(Method.DIRECT, is_absent=True),
)


@dataclass(frozen=True)
class Work:
    """What a victim does: in the life with the fault, and in the one after."""

    faulty: dict[str, Any] = field(default_factory=dict)
    last: dict[str, Any] = field(default_factory=dict)


SHOP = Work()


@dataclass(frozen=True)
class Series:
    """All faults of one kind at one call."""

    setup: Setup
    call: str
    fault: str

    def __str__(self) -> str:
        return f"{self.setup} {self.call} {self.fault}"


@dataclass
class Outcome:
    """What came of one fault."""

    injection: Injection
    was_hit: bool
    verdict: str = "kept"
    reasons: list[str] = field(default_factory=list)

    def blame(self, *reasons: str) -> None:
        if reasons:
            self.verdict = "broken"
            self.reasons += reasons


def series_of(setup: Setup) -> Iterator[Series]:
    """All series of a setup."""
    # Measuring makes hundreds of writes of its own, which are not what is looked at here.
    data = () if setup.is_absent else DATA[setup.method]
    for fault in ("kill", "eio", "enospc"):
        for call in (*data, *NAMES):
            if fault != "enospc" or call not in ("openat", "unlinkat", "fallocate"):
                yield Series(setup, call, fault)
    yield Series(setup, "preadv2", "eio")
    if setup.is_absent:
        return
    yield Series(setup, DATA[setup.method][0], "lost")
    for call in ("fdatasync", "fsync", "renameat"):
        yield Series(setup, call, "unflushed")


class Place:
    """One worker's directory and bench."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.bench = Bench(base / "bench")
        self._templates: dict[Setup, Path] = {}
        self._count = count()

    def directory(self, setup: Setup) -> Path:
        """Return a fresh directory."""
        path = self.base / f"log-{next(self._count)}"
        if setup.is_used:
            shutil.copytree(self._template(setup), path)
        elif not setup.is_absent:
            calibrate_as(path, setup.method, setup.flush_ns)
        return path

    def _template(self, setup: Setup) -> Path:
        if setup not in self._templates:
            path = self.base / f"template-{len(self._templates)}"
            calibrate_as(path, setup.method, setup.flush_ns)
            operations = ["start", "step", "signal", "close"]
            life = self.bench.live(
                path,
                workload="sequence",
                sizes=setup.sizes,
                details={"operations": operations, "is_last": True},
            )
            assert life.status == FINISHED, life
            (path / "owner.sock").unlink(missing_ok=True)
            self._templates[setup] = path
        return self._templates[setup]

    def live(self, setup: Setup, path: Path) -> Trace:
        """Count the calls of a life without faults."""
        file = self.base / "trace"
        file.unlink(missing_ok=True)
        self.bench.live(path, sizes=setup.sizes, tracer=lambda pid: traced(pid, file, WATCHED))
        return Trace(file)

    def close(self) -> None:
        self.bench.__exit__(None, None, None)


def run_one(place: Place, setup: Setup, injection: Injection, work: Work = SHOP) -> Outcome:
    """Inject one fault and judge what comes of it."""
    path = place.directory(setup)
    file = place.base / "trace"
    file.unlink(missing_ok=True)
    judge = Judge()
    life = place.bench.live(
        path,
        sizes=setup.sizes,
        tracer=lambda pid: traced(pid, file, WATCHED, injection),
        **work.faulty,
    )
    trace = Trace(file)
    outcome = Outcome(injection, life.was_killed or trace.has_injected)
    judge.hear(life.lines)
    outcome.blame(*_manners(life, trace, injection))
    is_lie = injection.fault in ("lost", "unflushed") and trace.has_injected
    refusal = _look(path, judge)
    last = place.bench.live(path, sizes=setup.sizes, **work.last)
    if last.status == REFUSED:
        refusal = refusal or f"refused: {last.lines[-1]['text']}"
    judge.hear(last.lines)
    if not refusal:
        outcome.blame(*filter(None, [last.complaint()]))
        if last.status != FINISHED:
            judge.blame(f"the next life ended with {last.status}: {last.lines[-1:]} {last.errors}")
        else:
            judge.look_at_the_end(facts_on_disk(path))
    _conclude(outcome, judge, trace, refusal, is_lie=is_lie)
    shutil.rmtree(path)
    return outcome


def _look(path: Path, judge: Judge) -> str:
    """Judge the disk; return why it cannot be read."""
    try:
        judge.look(facts_on_disk(path) if path.exists() else Facts())
    except (AcknowledgedDataLost, DirectoryRefused) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _manners(life: Life, trace: Trace, injection: Injection) -> Iterator[str]:
    """Yield what a victim did that it must not do after an error."""
    if life.complaint():
        yield life.complaint()
    if injection.fault not in ("eio", "enospc") or injection.call not in _DURABLE:
        return
    if trace.hit_log_file:
        if life.status == FINISHED:
            yield "it went on after a write that failed"
        if injection.call != "fsync":
            yield from (f"written after a failure: {line}" for line in trace.writes_after())


def _conclude(outcome: Outcome, judge: Judge, trace: Trace, refusal: str, *, is_lie: bool) -> None:
    is_lost_frame = is_lie and trace.hit_a_frame()
    if is_lie and refusal:
        outcome.verdict = "found" if not outcome.reasons else "broken"
        return
    if refusal:
        outcome.blame(refusal)
    if is_lost_frame and not trace.frames_after():
        outcome.verdict = "outside" if judge.violations else outcome.verdict
        return
    if is_lost_frame and outcome.injection.fault == "lost" and not judge.violations:
        outcome.blame(f"a frame is missing before {trace.frames_after()} others: {trace.hit}")
    outcome.blame(*judge.violations)


# ---------------------------------------------------------------- campaigns


@dataclass
class Report:
    """Counts, and every outcome that broke something."""

    injected: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    def add(self, series: Series, outcome: Outcome) -> None:
        if outcome.was_hit:
            self.injected[f"{series.call} {series.fault}"] += 1
            self.verdicts[outcome.verdict] += 1
        if outcome.verdict == "broken":
            text = "\n    ".join(outcome.reasons)
            self.broken.append(f"{series.setup}: {outcome.injection}\n    {text}")

    def __str__(self) -> str:
        lines = [f"{what:22} {number:5}" for what, number in sorted(self.injected.items())]
        verdicts = ", ".join(f"{number} {what}" for what, number in sorted(self.verdicts.items()))
        return "\n".join([*lines, f"{self.injected.total()} faults: {verdicts}", *self.broken])


def run_series(place: Place, series: Series, at: Sequence[int] | None, report: Report) -> None:
    """Inject at some calls, or at every call until a run survives."""
    for when in at if at is not None else count(1):
        outcome = run_one(place, series.setup, Injection(series.call, series.fault, when))
        report.add(series, outcome)
        if at is None and not outcome.was_hit:
            return


def spread(total: int, points: int) -> list[int]:
    """Return numbers from 1 to `total`, evenly spread, both ends among them."""
    if total <= points:
        return list(range(1, total + 1))
    return sorted({1 + round(i * (total - 1) / (points - 1)) for i in range(points)})


def on_places(base: Path, items: Sequence[T], work: Callable[[Place, T], None]) -> None:
    """Do work on several places at once; whatever happens, they are closed."""
    places: SimpleQueue[Place] = SimpleQueue()
    made = [Place(base / f"worker-{number}") for number in range(JOBS)]
    for place in made:
        places.put(place)

    def take(item: T) -> None:
        place = places.get()
        try:
            work(place, item)
        finally:
            places.put(place)

    try:
        with ThreadPoolExecutor(JOBS) as workers:
            try:
                for _ in workers.map(take, items):
                    pass
            except BaseException:
                workers.shutdown(wait=False, cancel_futures=True)
                raise
    finally:
        for place in made:
            place.close()


def run_campaign(
    base: Path, all_series: Sequence[Series], *, points: int | None, is_talking: bool = False
) -> Report:
    """Run series; `points` of each, or all."""
    report = Report()
    totals: dict[Setup, Counter[str]] = {}

    def work(place: Place, series: Series) -> None:
        at = None
        if points is not None:
            if series.setup not in totals:
                trace = place.live(series.setup, place.directory(series.setup))
                totals[series.setup] = trace.count_by_call()
            at = spread(totals[series.setup][series.call], points)
        began_s = time.monotonic()
        run_series(place, series, at, report)
        if is_talking:
            print(f"{series}: {time.monotonic() - began_s:.1f} s", flush=True)

    on_places(base, all_series, work)
    return report


SAMPLE = tuple(
    series
    for setup in (SETUPS[1], SETUPS[3])
    for series in series_of(setup)
    if series.call not in ("mkdir", "fallocate", "unlinkat")
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.real.syscalls")
    parser.add_argument("--all", action="store_true", help="every call, until a run survives")
    parser.add_argument("--only", default="", help="series whose name contains this")
    parser.add_argument("--points", type=int, default=3, help="of each series, without --all")
    options = parser.parse_args()
    lacking = why_not(*NEEDS)
    if lacking:
        print(f"not here: {lacking}")
        return 1
    every = [series for setup in SETUPS for series in series_of(setup)]
    chosen = [s for s in (every if options.all else SAMPLE) if options.only in str(s)]
    with tempfile.TemporaryDirectory(prefix=".fusee-syscalls-", dir=Path.cwd()) as base:
        points = None if options.all else options.points
        began_s = time.monotonic()
        report = run_campaign(Path(base), chosen, points=points, is_talking=True)
        print(report)
        print(f"{time.monotonic() - began_s:.0f} s")
    return bool(report.broken)


if __name__ == "__main__":
    sys.exit(main())
