"""Power cuts on the lossy file system: what was not flushed is gone, and the process with it.

    python -m tests.real.powercuts            a few kills under load, a spread of cuts
    python -m tests.real.powercuts --all      100 kills under load, a cut in every request

Each combination of a write method and a kind of mount is exercised: a file system that takes
RWF_DSYNC as a flag of the write, and one that sees a write and then a flush.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from itertools import count, product
from pathlib import Path
from random import Random
from typing import Any

from fusee.base.errors import AcknowledgedDataLost, DirectoryRefused
from fusee.io.calibration import calibrate
from fusee.io.methods import Method
from tests.real.capabilities import why_not
from tests.real.fuse.content import Loss
from tests.real.fuse.mounted import MountedServer
from tests.real.janitor import Janitor
from tests.real.judge import Judge, facts_on_disk
from tests.real.lives import Bench, Life, calibrate_as
from tests.real.victim import FINISHED, TINY

NEEDS = ("linux", "root", "fuse")
SMALL = (256 * 1024, 512 * 1024)
AT_ONCE = 16
LOSSES = (
    Loss("drop"),
    Loss("torn", units=1),
    Loss("torn", units=5),
    Loss("order", seed=1),
    Loss("order", seed=2),
)


@dataclass(frozen=True)
class Ground:
    """A kind of mount, and a write method; none is what calibration chooses."""

    is_direct: bool
    method: Method | None

    def __str__(self) -> str:
        mount = "direct" if self.is_direct else "cached"
        return f"{mount} mount, {self.method or 'calibrated'}"


GROUNDS = tuple(
    Ground(is_direct, method)
    for is_direct, method in product((False, True), (Method.DIRECT, Method.BUFFERED))
)


class LossyPlace:
    """A mount of a lossy file system and a bench beside it."""

    def __init__(self, mount: MountedServer, bench: Bench, ground: Ground) -> None:
        self.mount = mount
        self.bench = bench
        self.ground = ground
        self._count = count()

    def directory(self) -> Path:
        """Return a fresh directory, durably there, with its calibration."""
        path = self.mount.target / f"log-{next(self._count)}"
        if self.ground.method is None:
            path.mkdir()
            self.method = calibrate(path).method
        else:
            calibrate_as(path, self.ground.method)
            self.method = self.ground.method
        self.flush_all(path)
        return path

    def flush_all(self, path: Path) -> None:
        """Make the beginnings of a directory durable."""
        for place in (path / "calibration.json", path, path.parent):
            fd = os.open(place, os.O_RDONLY)
            os.fsync(fd)
            os.close(fd)

    def remove(self, path: Path) -> None:
        """Free a directory that is done with."""
        shutil.rmtree(path)
        self.mount.order("forget_removed")

    def live(self, path: Path, *, cut: tuple[int, Loss] | None = None, **options: Any) -> Life:
        """Live one life, with power going in its n-th request that changes something."""

        def on_birth(pid: int) -> None:
            if cut is not None:
                self.mount.order("cut", at=cut[0], pid=pid, loss=asdict(cut[1]))

        return self.bench.live(path, on_birth=on_birth, **options)

    def lost_power(self) -> bool:
        return bool(self.mount.order("counts")["is_off"])

    def power_on(self) -> None:
        self.mount.order("on")


@contextmanager
def lossy(base: Path, ground: Ground) -> Iterator[LossyPlace]:
    """Mount a lossy file system; unmount it on every way out."""
    with ExitStack() as exits:
        janitor = exits.enter_context(Janitor())
        direct = ["direct"] if ground.is_direct else []
        mount = exits.enter_context(MountedServer(janitor, "lossy", base / "mount", *direct))
        bench = exits.enter_context(Bench(base / "bench"))
        yield LossyPlace(mount, bench, ground)


# ---------------------------------------------------------------- campaigns


@dataclass
class Report:
    """What came of it."""

    cuts: Counter[str] = field(default_factory=Counter)
    kills: int = 0
    acks: int = 0
    broken: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{number:5} cuts: {what}" for what, number in sorted(self.cuts.items())]
        return "\n".join([*lines, f"{self.kills} kills, {self.acks} acks", *self.broken])


def _check(judge: Judge, life: Life, path: Path, *, is_last: bool = False) -> None:
    """Judge a life and the disk it left."""
    judge.hear(life.lines)
    if life.complaint():
        judge.blame(life.complaint())
    try:
        facts = facts_on_disk(path)
    except (AcknowledgedDataLost, DirectoryRefused) as refusal:
        judge.blame(f"{type(refusal).__name__}: {refusal}")
        return
    if not is_last:
        judge.look(facts)
    elif life.status == FINISHED:
        judge.look_at_the_end(facts)
    else:
        judge.blame(f"the last life ended with {life.status}: {life.lines[-1:]} {life.errors}")


def cut_in_request(place: LossyPlace, at: int, loss: Loss, report: Report) -> bool:
    """Cut power in one request of the shop's life; return whether there were so many."""
    path = place.directory()
    judge = Judge()
    life = place.live(path, cut=(at, loss), sizes=TINY)
    was_cut = place.lost_power()
    place.power_on()
    _check(judge, life, path)
    _check(judge, place.live(path, sizes=TINY), path, is_last=True)
    where = f"{place.ground}, {loss.kind}"
    if was_cut:
        report.cuts[where] += 1
        report.kills += 1
    report.acks += judge.acks
    if judge.violations:
        report.broken.append(f"{where}: request {at}, {loss}: {judge.violations}")
    place.remove(path)
    return was_cut


def cut_in_requests(place: LossyPlace, at: Sequence[int] | None, report: Report) -> None:
    """Cut power in some requests, or in every one, with every loss."""
    for loss in LOSSES:
        for number in at if at is not None else count(1):
            if not cut_in_request(place, number, loss, report):
                break


def kill_under_load(
    place: LossyPlace, kills: int, report: Report, *, seed: int = 0, **options: Any
) -> None:
    """Kill a loaded victim often: half the kills inside a request, half from outside."""
    options.setdefault("sizes", SMALL)
    random = Random(seed)
    path = place.directory()
    judge = Judge()
    for number in range(kills):
        loss = random.choice(LOSSES)
        load = {
            "workload": "load",
            "details": {"first": _next_number(judge), "at_once": AT_ONCE},
        }
        if number % 2:
            life = place.live(path, cut=(random.randint(2, 120), loss), **load, **options)
        else:
            life = place.live(path, kill_at=random.randint(100, 500), **load, **options)
            place.mount.order("lose", **asdict(loss))
        place.power_on()
        if not life.was_killed:
            judge.blame(f"it ended by itself: {life.status} {life.lines[-1:]} {life.errors}")
        _check(judge, life, path)
        if judge.violations:
            break
    if not judge.violations:
        # A start may be durable though nobody was told; its client comes back too.
        total = max(_number(run) for run in facts_on_disk(path).started) + 1
        last = {
            "workload": "load",
            "details": {"first": 0, "at_once": AT_ONCE, "total": total},
        }
        _check(judge, place.live(path, **last, **options), path, is_last=True)
    place.remove(path)
    report.kills += judge.life - 1
    report.acks += len(judge.started)
    report.cuts[f"{place.ground} ({place.method}), under load"] += judge.life - 1
    report.broken += [f"{place.ground}, load: {text}" for text in judge.violations]


def _next_number(judge: Judge) -> int:
    return max(map(_number, judge.started), default=-1) + 1


def _number(run: str) -> int:
    return int(run.removeprefix("order-").removesuffix("/1"))


def run_all(base: Path, *, is_complete: bool) -> Report:
    """Run on every ground."""
    report = Report()
    for number, ground in enumerate((*GROUNDS, Ground(False, None), Ground(True, None))):
        with lossy(base / f"ground-{number}", ground) as place:
            kill_under_load(place, 16 if is_complete else 4, report, seed=number)
            if ground.method is not None:
                cut_in_requests(place, None if is_complete else (4, 20, 33), report)
            elif is_complete:
                # The sizes of the product: 4 MiB, then 64 MiB.
                kill_under_load(place, 4, report, seed=100 + number, sizes=None)
    return report


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.real.powercuts")
    parser.add_argument("--all", action="store_true", help="every request, many kills")
    options = parser.parse_args()
    lacking = why_not(*NEEDS)
    if lacking:
        print(f"not here: {lacking}")
        return 1
    with tempfile.TemporaryDirectory(prefix=".fusee-cuts-", dir=Path.cwd()) as base:
        began_s = time.monotonic()
        report = run_all(Path(base), is_complete=options.all)
        print(report)
        print(f"{time.monotonic() - began_s:.0f} s")
    return bool(report.broken)


if __name__ == "__main__":
    sys.exit(main())
