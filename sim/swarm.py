"""A campaign of seeds.

    python -m sim.swarm --seeds 0:10000                 these seeds
    python -m sim.swarm --seeds fresh --minutes 2       others each time; the start is printed
    python -m sim.swarm --seeds 17:18 --without torn    one seed, with less

Exit codes: 0 clean; 1 a seed failed, or the campaign reached too little; 2 usage; 130 Ctrl-C,
after all that is known so far; 141 nobody reads on.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sim.bugs
import sim.hook
from sim.ending import INTERRUPTED, ended
from sim.job import Ask, Job

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fusee.testing.outcome import SeedOutcome
    from sim.report import Living
    from sim.tally import Tally

CLEAN, FAILED, USAGE = 0, 1, 2
SHRINK_S = 120.0
_FRESH_BITS = 40


class BadUsage(Exception):
    """The command line asks for something that is not there."""


def parse_seeds(text: str) -> range:
    """Return the seeds of "A:B", "A" or "fresh". Raises `BadUsage`."""
    if text == "fresh":
        start = secrets.randbits(_FRESH_BITS)
        return range(start, 1 << 62)
    first, colon, last = text.partition(":")
    try:
        start = int(first)
        stop = int(last) if colon else start + 1
    except ValueError:
        raise BadUsage(f"--seeds {text}: two numbers as in 0:1000, or fresh") from None
    if not 0 <= start < stop:
        raise BadUsage(f"--seeds {text}: from a number up to a larger one, which is not run")
    return range(start, stop)


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m sim.swarm",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--seeds", required=True, help="A:B, A, or fresh")
    add("--level", default="byte", help="byte (default), full, or the name of a module")
    add("--workload", help="what the seeds do, where the level has a choice")
    add("--minutes", type=float, help="stop after so long")
    add("--jobs", type=int, default=os.cpu_count() or 1, help="worker processes; default: cores")
    add("--bug", metavar="NAME", help="put a deliberate bug in; see python -m sim.bugs --list")
    add("--without", action="append", default=[], metavar="FAMILY,...", help="without these faults")
    add("--events", type=int, metavar="N", help="end each seed's first phase after N events")
    add("--clients", type=int, metavar="N", help="at most N clients")
    add("--failures", type=int, default=1, metavar="N", help="stop after N failing seeds")
    add("--recheck", type=int, default=100, metavar="N", help="run every Nth seed twice; 0: none")
    add("--recheck-python", default=sys.executable, metavar="PATH", help="with this Python")
    add("--seed-seconds", type=float, default=60.0, help="a seed that takes longer hangs")
    add("--no-shrink", action="store_true", help="report a failing seed as it is")
    add("--json", type=Path, metavar="FILE", help="write a summary here")
    return parser


def make_job(given: argparse.Namespace, level: Any) -> Job:
    """Check what is asked for against the level. Raises `BadUsage`."""
    from sim.levels import option_names

    without = tuple(family for text in given.without for family in text.split(","))
    ask = Ask(without, given.events, given.clients, given.workload)
    words = {"without": "--without", "events_max": "--events", "clients_max": "--clients"}
    unknown = sorted(set(ask.values()) - option_names(level))
    if unknown:
        raise BadUsage(f"level {level.NAME} has no {words.get(unknown[0], '--' + unknown[0])}")
    for family in without:
        if family not in level.FAMILIES:
            known = ", ".join(sorted(level.FAMILIES))
            raise BadUsage(f"--without {family}: level {level.NAME} has {known}")
    workloads = getattr(level, "WORKLOADS", ())
    if given.workload is not None and given.workload not in workloads:
        raise BadUsage(f"--workload {given.workload}: level {level.NAME} has {list(workloads)}")
    if given.jobs < 1 or given.failures < 1 or given.recheck < 0 or given.seed_seconds <= 0:
        raise BadUsage("--jobs, --failures and --seed-seconds are at least 1, --recheck 0")
    if given.clients is not None and given.clients < 1:
        raise BadUsage(f"--clients {given.clients}: at least 1")
    if given.events is not None and given.events < 0:
        raise BadUsage(f"--events {given.events}: at least 0")
    if given.minutes is not None and not given.minutes > 0:
        raise BadUsage(f"--minutes {given.minutes}: more than 0")
    if given.json is not None and not given.json.absolute().parent.is_dir():
        raise BadUsage(f"--json {given.json}: there is no such directory")
    if shutil.which(given.recheck_python) is None:
        raise BadUsage(f"--recheck-python {given.recheck_python}: there is no such program")
    if given.bug is not None:
        try:
            for bug in sim.bugs.load_all(given.bug):
                sim.hook.check_fits(bug)
        except (sim.bugs.UnknownBug, sim.hook.BugDoesNotFit) as error:
            raise BadUsage(f"--bug: {error}") from None
    return Job(given.level, given.bug, ask, given.seed_seconds)


def load_level(name: str) -> Any:
    """Import a level. Raises `BadUsage`."""
    from sim.levels import load, names

    try:
        return load(name)
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.endswith(name.rpartition(".")[2]):
            raise
        raise BadUsage(f"--level {name}: there is {', '.join(names())}") from None


def run_campaign(given: argparse.Namespace, job: Job, seeds: range, living: Living) -> Tally:
    """Run the seeds, reporting the first failing ones as they come."""
    from sim.runner import Campaign

    tally = living.tally
    deadline_s = None if given.minutes is None else time.monotonic() + given.minutes * 60
    failed: list[SeedOutcome] = []

    def on_outcome(outcome: SeedOutcome) -> None:
        tally.add(outcome)
        if not outcome.is_clean:
            failed.append(outcome)
            campaign.is_stopping = len(failed) >= given.failures

    def tick() -> None:
        living.tick()
        if deadline_s is not None and time.monotonic() >= deadline_s:
            campaign.is_stopping = True

    campaign = Campaign(
        job,
        seeds,
        workers=given.jobs,
        recheck_every=given.recheck,
        on_outcome=on_outcome,
        recheck_python=given.recheck_python,
    )
    try:
        campaign.run(tick)
    except KeyboardInterrupt:
        tally.was_interrupted = True
        living.say("interrupted; so far:")
    living.end()
    tally.counters["rechecked"] = campaign.rechecked
    return tally


def tell_failures(tally: Tally, job: Job, level: Any, living: Living, *, shrinks: bool) -> None:
    """Print every failing seed, and the smallest way to see it again."""
    from sim.report import failure_text

    for outcome in tally.failures:
        living.say("\n" + failure_text(outcome, job, job.ask))
        if shrinks and not outcome.violations[0].startswith("not deterministic"):
            living.say(shrunk_text(outcome, job, level))


def shrunk_text(outcome: SeedOutcome, job: Job, level: Any) -> str:
    """Make a failing seed small; return what is left of it as text."""
    from sim.levels import option_names
    from sim.report import failure_text
    from sim.runner import Worker, run_once
    from sim.shrink import Shrinker

    deadline_s = time.monotonic() + SHRINK_S
    worker = Worker(replace(job, seed_s_max=min(job.seed_s_max, SHRINK_S / 10)))

    def run(ask: Ask) -> SeedOutcome:
        nonlocal worker
        again, worker = run_once(worker, outcome.seed, ask)
        return again

    shrinker = Shrinker(outcome, job.ask, run, may_go_on=lambda: time.monotonic() < deadline_s)
    try:
        shrinker.shrink(level.FAMILIES, option_names(level))
    finally:
        worker.close()
    if shrinker.ask == job.ask:
        return f"nothing can be left out ({shrinker.tries} tries)"
    head = f"smallest after {shrinker.tries} tries:"
    return f"{head}\n{failure_text(shrinker.outcome, job, shrinker.ask)}"


def work_of(level: Any) -> dict[str, int]:
    """Return the floors of a level's work."""
    return dict(getattr(level, "WORK", {}))


def faults_of(tally: Tally, job: Job, level: Any) -> list[str]:
    """Return why the campaign is worth less than it seems. A reduced one is not judged."""
    if job.bug is not None or set(job.ask.values()) - {"workload"}:
        return []
    found = [f"mark never reached: {name}" for name in tally.missing_marks(level.MARKS)]
    return found + [f"idle seeds: {text}" for text in tally.idle_work(work_of(level))]


def write_json(path: Path, tally: Tally, job: Job, level: Any, elapsed_s: float) -> None:
    """Write what RESULTS.md needs."""
    from sim.report import commit

    about = {
        "commit": commit(),
        "python": sys.version.split()[0],
        "level": job.level,
        "bug": job.bug,
        "options": job.ask.values(),
        "elapsed_s": round(elapsed_s, 1),
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    path.write_text(json.dumps(about | tally.summary(work_of(level)), indent=2) + "\n")


def run(given: argparse.Namespace) -> int:
    """Run what was asked for; return the exit code. Raises `BadUsage`."""
    seeds = parse_seeds(given.seeds)
    if given.seeds == "fresh" and given.minutes is None:
        raise BadUsage("--seeds fresh has no end: say for how many --minutes")
    level = load_level(given.level)
    job = make_job(given, level)
    from sim.report import Living
    from sim.runner import WorkerFailed
    from sim.tally import Tally as NewTally

    living = Living(sys.stdout, NewTally(), given.jobs)
    if given.seeds == "fresh":
        living.say(f"seeds from {seeds.start} on")
    try:
        tally = run_campaign(given, job, seeds, living)
    except WorkerFailed as error:
        raise BadUsage(f"a worker cannot begin:\n{error}") from None
    if given.json is not None:
        write_json(given.json, tally, job, level, living.elapsed_s)
    shrinks = not (given.no_shrink or tally.was_interrupted)
    tell_failures(tally, job, level, living, shrinks=shrinks)
    if tally.was_interrupted:
        return INTERRUPTED
    shortcomings = faults_of(tally, job, level)
    for text in shortcomings:
        living.say(text)
    return FAILED if tally.failures or shortcomings else CLEAN


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    given = make_parser().parse_args(arguments)
    try:
        return run(given)
    except BadUsage as error:
        print(f"sim.swarm: {error}", file=sys.stderr)
        return USAGE


if __name__ == "__main__":
    sys.exit(ended(main))
