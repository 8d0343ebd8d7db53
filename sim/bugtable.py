"""How fast each deliberate bug is caught: by its scenario in one try, by random seeds in how many.

A seed counts as a catch only if it is clean without the bug.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING

import sim.bugs
import sim.levels
from sim.job import Ask, Job
from sim.runner import Campaign, Worker, run_once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fusee.testing.outcome import SeedOutcome
    from sim.bugs import Bug

START_DISTANCE = 1_000_000
RECHECK_EVERY = 10
SCENARIO_S_MAX = 120.0


@dataclass(slots=True)
class Row:
    """What is known of one bug."""

    bug: Bug
    by_scenario: str
    """ "caught", "missed", or what went wrong."""
    seeds: list[int | None] = field(default_factory=list)
    """Of each start, how many seeds it took; None when none of them caught it."""
    headline: str = ""
    tried: int = 0

    @property
    def median(self) -> float | None:
        """Return the median number of seeds, None when less than half of the starts caught it."""
        found = [float("inf") if count is None else count for count in self.seeds]
        median = statistics.median_low(found) if found else float("inf")
        return None if median == float("inf") else median

    @property
    def is_caught(self) -> bool:
        """Whether the bug is caught by everything that was tried."""
        is_seen = not self.seeds or any(count is not None for count in self.seeds)
        return self.by_scenario == "caught" and (is_seen or bool(self.bug.equivalent))

    def cells(self) -> tuple[str, ...]:
        """Return the row as text."""
        median = self.median
        seeds = (
            "-" if not self.seeds else f">{self.tried:,}" if median is None else f"{median:,.0f}"
        )
        hits = f"{sum(count is not None for count in self.seeds)}/{len(self.seeds)}"
        say = self.headline or self.bug.equivalent
        return (self.bug.name, self.bug.level, self.by_scenario, seeds, hits, say[:90])


HEADER = ("bug", "level", "scenario", "median seeds", "starts", "how it was first seen")


def table(rows: Iterable[Row]) -> str:
    """Return rows as a table in Markdown."""
    cells = [HEADER, tuple("---" for _ in HEADER), *(row.cells() for row in rows)]
    return "\n".join("| " + " | ".join(row) + " |" for row in cells)


def play_scenario(name: str, bugs: str) -> str:
    """Play a scenario with bugs in a fresh process: "caught", "missed", or an error."""
    command = [sys.executable, "-m", "sim.scenarios", name, "--bug", bugs]
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=SCENARIO_S_MAX
        )
    except subprocess.TimeoutExpired:
        return "caught"  # It hangs with the bug and ends without.
    words = {0: "missed", 1: "caught"}
    return words.get(ended.returncode) or f"error: {ended.stderr.strip()[-200:]}"


def seeds_to_catch(
    bugs: str, level: str, start: int, seeds: int, stops: Event | None = None
) -> tuple[int | None, str]:
    """Return how many seeds from a start on it takes, and what the first catch said."""
    found: list[SeedOutcome] = []
    good = Job(level)
    sound: Worker | None = None
    position = start
    while position < start + seeds:
        found.clear()
        stopped_at = _first_failure(Job(level, bugs), range(position, start + seeds), found, stops)
        if stopped_at is None:
            break
        seed = found[0].seed
        if sound is None:
            sound = Worker(good)
        outcome, sound = run_once(sound, seed, Ask())
        if outcome.is_clean:
            sound.close()
            return seed - start + 1, found[0].violations[0] if found[0].violations else ""
        position = seed + 1
    if sound is not None:
        sound.close()
    return None, ""


def _first_failure(
    job: Job, seeds: range, found: list[SeedOutcome], stops: Event | None
) -> int | None:
    def on_outcome(outcome: SeedOutcome) -> None:
        if not outcome.is_clean:
            found.append(outcome)
            campaign.is_stopping = True

    campaign = Campaign(job, seeds, workers=1, recheck_every=RECHECK_EVERY, on_outcome=on_outcome)

    def tick() -> None:
        if stops is not None and stops.is_set():
            campaign.is_stopping = True

    campaign.run(tick)
    return found[0].seed if found else None


def measure(
    bugs: Iterable[Bug],
    *,
    seeds: int,
    starts: int,
    jobs: int,
    level: str | None,
    tell: Callable[[Row], None],
) -> list[Row]:
    """Measure every bug; `tell` hears of each as it is done."""
    known = sim.levels.names()
    stops = Event()

    def one(bug: Bug) -> Row:
        row = Row(bug, play_scenario(bug.scenario, bug.name), tried=seeds)
        where = level or bug.level
        if seeds and not bug.equivalent and (where in known or "." in where):
            for number in range(starts):
                start = number * START_DISTANCE
                count, said = seeds_to_catch(bug.name, where, start, seeds, stops)
                row.seeds.append(count)
                row.headline = row.headline or "".join(said.splitlines()[:1])
        return row

    rows: list[Row] = []
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for done in as_completed([pool.submit(one, bug) for bug in bugs]):
                rows.append(done.result())
                tell(rows[-1])
        except BaseException:
            stops.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return sorted(rows, key=lambda row: row.bug.name)


def notice(bug: Bug) -> str:
    """Say how the bug of a checker is noticed: "noticed ...", or "unnoticed".

    Either the sound product is blamed in a scenario, or a bug of the product gets away in the
    scenario that is there to catch it. Each turns the tests red.
    """
    if bug.noticed.startswith("canary:"):
        canary = sim.bugs.load(bug.noticed.removeprefix("canary:"))
        said = play_scenario(canary.scenario, f"{canary.name}+{bug.name}")
        return f"noticed: {canary.name} gets away" if said == "missed" else "unnoticed"
    said = play_scenario(bug.scenario, bug.name)
    return "noticed: it blames a sound log" if said == "caught" else "unnoticed"
