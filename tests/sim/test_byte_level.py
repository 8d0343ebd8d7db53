"""The byte level: clean on fresh seeds, the same in every process, and not blind."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from fusee.base.errors import DirectoryRefused
from fusee.io.file_log import Recovered
from fusee.log.segment import segment_number
from fusee.testing.device import InFlight, SimDevice
from fusee.testing.marks import Marks
from fusee.testing.outcome import Stuck, Verdict
from sim.byte.submitter import HeldSubmitter
from sim.byte.world import Broken, World
from sim.levels import byte

ROOT = Path(__file__).parent.parent.parent
QUIET = byte.Options(without=frozenset(byte.FAMILIES))
HASHES = """
from sim.levels import byte
for seed in range(40):
    outcome = byte.run_seed(seed, byte.Options())
    print(seed, outcome.trace_hash, sorted(outcome.counters.items()), outcome.marks)
"""


def test_two_hundred_fresh_seeds_are_clean_and_reach_most_marks():
    start = secrets.randbelow(1 << 40)
    marks = Marks()
    for seed in range(start, start + 200):
        outcome = byte.run_seed(seed, byte.Options())
        assert outcome.is_clean, f"seed {seed}: {outcome.violations}\n" + "\n".join(outcome.trace)
        for name in outcome.marks:
            marks.hit(name)
    missing = marks.missing(byte.MARKS)
    assert len(missing) <= len(byte.MARKS) // 6, missing


def test_a_seed_is_the_same_in_two_processes_with_different_hash_seeds():
    said = [
        subprocess.run(
            [sys.executable, "-c", HASHES],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert said[0] == said[1]
    assert len(said[0].splitlines()) == 40


def test_without_faults_power_alone_never_leaves_a_doubt():
    for seed in range(100):
        outcome = byte.run_seed(seed, QUIET)
        assert outcome.is_clean, outcome.violations
        assert not any(name.endswith(("F", "U")) for name in outcome.marks if "scan:" in name)
        assert "refusals_to_open" not in outcome.counters


def test_an_earlier_end_leaves_what_came_before_as_it_was():
    whole = byte.Run(3, byte.Options())
    whole.run()
    short = byte.Run(3, byte.Options(events_max=20))
    short.run()
    lines = short.world.trace.lines()
    same = lines[: [line.split()[1] for line in lines].index("converge") - 1]
    assert len(same) > 5
    assert same == whole.world.trace.lines()[: len(same)]


# ---------------------------------------------------------------- worlds that must be caught


def caught(world: type[World], *, seeds: int = 60) -> str:
    """Return what the first seed says that catches a world which is wrong in one thing."""
    for seed in range(seeds):
        run = byte.Run(seed, QUIET, world)
        try:
            run.run()
        except (Broken, Stuck) as broken:
            return str(broken)
    return ""


class Liar(SimDevice):
    """Reports every seventh frame and does not write it."""

    def complete(self, write: InFlight) -> None:
        self.frames = getattr(self, "frames", 0) + (segment_number(write.name) is not None)
        before = write.file.held(write.offset, len(write.data))
        super().complete(write)
        if segment_number(write.name) is not None and self.frames % 7 == 0:
            write.file.put(write.offset, before)


class LyingDisk(World):
    def start_process(self) -> None:
        super().start_process()
        self.device = Liar(self.disk, watcher=self.written)
        self.submitter = HeldSubmitter(self.device)


class AckTooEarly(World):
    """Takes what is in flight at a crash for acknowledged."""

    def lose_power(self, garbage: float | None = None) -> None:
        for frame in self.written.frames:
            frame.is_done = True
        super().lose_power(garbage)


class DropsTheLast(World):
    """A recovery that leaves the last batch out."""

    def open_on(self, device, submitter, found) -> Recovered:
        recovered = super().open_on(device, submitter, found)
        del found[2:3]
        return recovered


class ChangesContent(World):
    """A recovery that hands out a batch that was never written so."""

    def open_on(self, device, submitter, found) -> Recovered:
        recovered = super().open_on(device, submitter, found)
        if found:
            found[0] = msgspec.structs.replace(found[0], data=found[0].data + b"x")
        return recovered


class RefusesForNothing(World):
    def open_on(self, device, submitter, found) -> Recovered:
        recovered = super().open_on(device, submitter, found)
        if recovered.superblock.boot_count == 4:
            raise DirectoryRefused("just so")
        return recovered


class ForgetsPromises(World):
    def open_on(self, device, submitter, found) -> Recovered:
        recovered = super().open_on(device, submitter, found)
        older = msgspec.structs.replace(recovered.superblock, view=0, log_view=0)
        return msgspec.structs.replace(recovered, superblock=older)


@pytest.mark.parametrize(
    ("world", "says"),
    [
        (LyingDisk, "acknowledged|atlas|does not open|a read fails"),
        (AckTooEarly, "acknowledged|atlas|op"),
        (DropsTheLast, "comes next|ends at op"),
        (ChangesContent, "never written so"),
        (RefusesForNothing, "without cause"),
        (ForgetsPromises, "promises"),
    ],
)
def test_a_world_that_is_wrong_in_one_thing_is_caught(world, says):
    found = caught(world)
    assert any(word in found for word in says.split("|")), found or "nobody noticed"


def test_an_exception_of_ours_is_a_finding():
    outcome = byte.run_seed(1, byte.Options(events_max="many"))  # type: ignore[arg-type]
    assert outcome.verdict is Verdict.CRASHED
    assert "TypeError" in outcome.violations[0]
