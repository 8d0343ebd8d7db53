"""Every block write of a disk recorded, and every moment of it replayed as a crash.

    python -m tests.real.blocks           a sample of the cuts
    python -m tests.real.blocks --all     every cut of a trace of 500 writes, 1,000 random subsets

An ext4 on a loop device on a file of our own file system: the recorder sees each block write and
each flush. A cut keeps everything before the last flush that is before it, and of the writes
after that flush a subset: those before the cut, a random choice, or some with torn 512-byte
sectors. The image that results is mounted, which replays ext4's journal, and the log on it is
judged by what had left the victim when the cut came.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from fusee.base.errors import AcknowledgedDataLost, DirectoryRefused
from fusee.io.methods import Method
from tests.real.capabilities import found, why_not
from tests.real.fuse.mounted import MountedServer
from tests.real.fuse.recorder import IMAGE, Entry, read_record
from tests.real.janitor import Janitor
from tests.real.judge import Judge, Line, facts_on_disk
from tests.real.lives import Bench, calibrate_as
from tests.real.syscalls import spread
from tests.real.victim import FINISHED, TINY

NEEDS = ("linux", "root", "fuse", "loop", "ext4")
IMAGE_BYTES = 256 << 20
"""An engine with less than 192 MiB free takes no starts."""
SECTOR = 512
KINDS = ("prefix", "random", "torn")
_COMMAND_S = 30.0


def run_command(*words: str | Path) -> str:
    """Run a program to its end; return what it printed."""
    done = subprocess.run(
        list(map(str, words)),
        capture_output=True,
        text=True,
        timeout=_COMMAND_S,
        check=False,
        env={**os.environ, "PATH": f"{os.environ['PATH']}:/sbin:/usr/sbin"},
    )
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout.strip()


@dataclass(frozen=True)
class Trace:
    """What a disk saw, and what had left the victim by when."""

    start: Path
    entries: list[Entry]
    lines: list[Line]

    @property
    def write_count(self) -> int:
        return sum(entry.data is not None for entry in self.entries)

    def said_by(self, cut: int) -> list[Line]:
        """Return what had been said when so many entries were recorded."""
        return [line for line in self.lines if line["at"] <= cut]


# ---------------------------------------------------------------- recording


@contextmanager
def recorded_disk(base: Path, janitor: Janitor) -> Iterator[tuple[MountedServer, Path, Path]]:
    """Mount ext4 on a recorded disk; yield its recorder, the mount and the control socket."""
    base.mkdir(parents=True)
    control = base / "control.sock"
    with ExitStack() as exits:
        arguments = (str(IMAGE_BYTES), str(base / "record"), str(control))
        server = exits.enter_context(MountedServer(janitor, "recorder", base / "fuse", *arguments))
        image = server.target / IMAGE
        device = run_command("losetup", "--find", "--show", "--direct-io=on", image)
        detach = (found("losetup") or "losetup", "-d", device)
        exits.callback(janitor.undo_now, janitor.undo_later(*detach))
        run_command("mkfs.ext4", "-q", "-F", "-m", "0", "-E", "nodiscard", device)
        place = base / "ext4"
        place.mkdir()
        run_command("mount", "-t", "ext4", device, place)
        exits.callback(janitor.undo_now, janitor.undo_later("umount", str(place)))
        yield server, place, control


def record(
    base: Path, *, writes: int, method: Method = Method.DIRECT, device: str = "file"
) -> Trace:
    """Record a loaded victim until there are so many block writes, then kill it."""
    lines: list[Line] = []
    with Janitor() as janitor, recorded_disk(base / "disk", janitor) as disk:
        server, place, control = disk
        path = place / "log"
        calibrate_as(path, method)
        os.sync()
        server.order("start")
        with Bench(base / "bench", control) as bench:
            life = bench.live(
                path,
                kill_at=writes * 3 // 4,  # Four block writes come to about three lines.
                sizes=TINY,
                device=device,
                workload="load",
                details={"first": 0, "at_once": 3},
            )
            assert life.was_killed, life
            lines = life.lines
        count = server.order("position")["position"]
    record_file = base / "disk" / "record"
    entries = list(read_record(record_file))[:count]
    return Trace(record_file.with_suffix(".start"), entries, lines)


# ---------------------------------------------------------------- replaying


class Images:
    """Builds the image of a crash. Cuts must come in ascending order."""

    def __init__(self, trace: Trace, base: Path) -> None:
        self._trace = trace
        self._base = base
        self._flushed = base / "flushed.img"
        self._crashed = base / "crashed-0.img"
        self._count = 0
        self._done = 0
        copy_sparse(trace.start, self._flushed)

    def at(self, cut: int, kind: str, seed: int = 0) -> Path:
        """Return the image of a crash at a cut."""
        entries = self._trace.entries
        last_flush = max((n for n in range(cut) if entries[n].data is None), default=-1) + 1
        if last_flush > self._done:
            with self._flushed.open("r+b") as image:
                apply(image.fileno(), entries[self._done : last_flush])
            self._done = last_flush
        # Always another file: the kernel may let go of the last one's loop device late, and
        # mount would take that one again, with what it still has in its cache.
        self._crashed.unlink(missing_ok=True)
        self._count += 1
        self._crashed = self._base / f"crashed-{self._count}.img"
        copy_sparse(self._flushed, self._crashed)
        random = Random(f"{seed}/{cut}")
        later = [entry for entry in entries[last_flush:cut] if entry.data is not None]
        with self._crashed.open("r+b") as image:
            apply(image.fileno(), subset(later, kind, random))
        return self._crashed


def apply(fd: int, entries: Iterable[Entry]) -> None:
    """Write what was written."""
    for entry in entries:
        if entry.data is not None:
            os.pwrite(fd, entry.data, entry.offset)


def subset(later: Sequence[Entry], kind: str, random: Random) -> Iterator[Entry]:
    """Yield what survives of the writes behind the last flush."""
    for entry in later:
        fate = "landed" if kind == "prefix" else random.choice(("lost", "landed", kind))
        if fate == "torn":
            assert entry.data is not None
            for start in range(0, len(entry.data), SECTOR):
                if random.random() < 0.5:
                    yield Entry(entry.offset + start, entry.data[start : start + SECTOR])
        elif fate != "lost":
            yield entry


def copy_sparse(source: Path, target: Path) -> None:
    """Copy a file without its holes; an image is nearly all hole."""
    with source.open("rb") as given, target.open("wb") as made:
        size = os.fstat(given.fileno()).st_size
        made.truncate(size)
        at = 0
        while at < size:
            try:
                begin = os.lseek(given.fileno(), at, os.SEEK_DATA)
            except OSError:
                return  # No data behind here.
            at = os.lseek(given.fileno(), begin, os.SEEK_HOLE)
            os.pwrite(made.fileno(), os.pread(given.fileno(), at - begin, begin), begin)


@contextmanager
def mounted_image(janitor: Janitor, image: Path, place: Path) -> Iterator[Path]:
    """Mount an image; its loop device goes with the mount."""
    place.mkdir(exist_ok=True)
    run_command("mount", "-t", "ext4", "-o", "loop", image, place)
    undo = janitor.undo_later("umount", str(place))
    try:
        yield place
    finally:
        janitor.undo_now(undo)


@dataclass
class Report:
    """What came of it."""

    cuts: Counter[str] = field(default_factory=Counter)
    acks_max: int = 0
    broken: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{number:5} cuts: {what}" for what, number in sorted(self.cuts.items())]
        return "\n".join([*lines, f"{self.acks_max} acks at the last cut", *self.broken])


class Replayer:
    """Crashes a recorded disk at one place after another."""

    def __init__(self, trace: Trace, base: Path, janitor: Janitor, bench: Bench) -> None:
        base.mkdir(parents=True, exist_ok=True)
        self._trace = trace
        self._base = base
        self._images = Images(trace, base)
        self._janitor = janitor
        self._bench = bench

    def crash(self, cut: int, kind: str, report: Report, *, seed: int = 0, lives: bool) -> None:
        """Crash at one place and judge the disk; also open an engine on it if asked to."""
        image = self._images.at(cut, kind, seed)
        judge = Judge()
        judge.hear(self._trace.said_by(cut))
        with mounted_image(self._janitor, image, self._base / "replayed") as place:
            path = place / "log"
            try:
                judge.look(facts_on_disk(path))
                if lives:
                    self._live(path, judge)
            except (AcknowledgedDataLost, DirectoryRefused) as refusal:
                judge.blame(f"{type(refusal).__name__}: {refusal}")
        report.cuts[kind] += 1
        report.acks_max = max(report.acks_max, judge.acks)
        if judge.violations:
            report.broken.append(f"cut {cut}, {kind}, seed {seed}: {judge.violations}")

    def _live(self, path: Path, judge: Judge) -> None:
        """An engine opens it, and every run that is there comes to its end."""
        known = [*judge.started, *facts_on_disk(path).started]
        numbers = [int(run.removeprefix("order-").removesuffix("/1")) for run in known]
        details = {"first": 0, "at_once": 3, "total": max(numbers, default=-1) + 1}
        life = self._bench.live(path, sizes=TINY, workload="load", details=details)
        judge.hear(life.lines)
        if life.status != FINISHED:
            judge.blame(f"the next life ended with {life.status}: {life.lines[-1:]} {life.errors}")
        judge.look_at_the_end(facts_on_disk(path))


@contextmanager
def fast_place(janitor: Janitor) -> Iterator[Path]:
    """Make a place for images that need not survive anything: in memory where there is some."""
    memory = Path("/dev/shm")
    path = Path(tempfile.mkdtemp(prefix="fusee-images-", dir=memory if memory.is_dir() else None))
    undo = janitor.undo_later("rm", "-rf", str(path))
    try:
        yield path
    finally:
        janitor.undo_now(undo)


def replay(
    trace: Trace, base: Path, cuts: Sequence[int], *, kinds: Sequence[str] = KINDS, seeds: int = 1
) -> Report:
    """Crash at some places, in every way."""
    report = Report()
    with (
        Janitor() as janitor,
        fast_place(janitor) as images,
        Bench(base / "replays") as bench,
    ):
        replayer = Replayer(trace, images, janitor, bench)
        for cut in cuts:
            for kind in kinds:
                for seed in range(1 if kind == "prefix" else seeds):
                    replayer.crash(cut, kind, report, seed=seed, lives=kind == "torn")
    return report


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.real.blocks")
    parser.add_argument("--all", action="store_true", help="every cut")
    parser.add_argument("--writes", type=int, default=500, help="length of the trace")
    options = parser.parse_args()
    lacking = why_not(*NEEDS)
    if lacking:
        print(f"not here: {lacking}")
        return 1
    is_broken = False
    for method in (Method.DIRECT, Method.BUFFERED):
        with tempfile.TemporaryDirectory(prefix=".fusee-blocks-", dir=Path.cwd()) as base:
            began_s = time.monotonic()
            trace = record(Path(base), writes=options.writes, method=method)
            count = len(trace.entries)
            print(f"{method}: {trace.write_count} writes, {count - trace.write_count} flushes")
            every = range(count + 1) if options.all else [0, *spread(count, 20)]
            report = replay(trace, Path(base), every)
            print(report)
            print(f"{time.monotonic() - began_s:.0f} s", flush=True)
            is_broken |= bool(report.broken)
    return is_broken


if __name__ == "__main__":
    sys.exit(main())
