"""The checkers, checked: every deliberate bug must be caught.

    python -m sim.bugs                        all: scenario, and median of random seeds
    python -m sim.bugs --only NAME --seeds 20000 --starts 5
    python -m sim.bugs --seeds 0              scenarios only, some seconds
    python -m sim.bugs --checkers             bugs of the checkers themselves
    python -m sim.bugs --canary NAME          one bug, random seeds: red unless it is caught
    python -m sim.bugs --list

Exit codes: 0 all caught; 1 one got away; 2 usage; 130 Ctrl-C; 141 nobody reads on.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

import sim.bugs
import sim.hook
from sim.ending import ended

if TYPE_CHECKING:
    from sim.bugs import Bug
    from sim.bugtable import Row

CAUGHT, GOT_AWAY, USAGE = 0, 1, 2


class BadUsage(Exception):
    """The command line asks for something that would show nothing."""


def check_numbers(given: argparse.Namespace) -> None:
    """Refuse numbers with which a bug would seem to be caught, or free. Raises `BadUsage`."""
    if given.jobs < 1 or given.starts < 1 or given.seeds < 0:
        raise BadUsage("--jobs and --starts are at least 1, --seeds 0")
    if given.canary and not given.seeds:
        raise BadUsage("--canary takes random seeds: --seeds is at least 1")


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m sim.bugs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--seeds", type=int, default=2_000, help="random seeds a start; 0: scenarios only")
    add("--starts", type=int, default=3, help="how many places seeds are taken from")
    add("--only", action="append", metavar="NAME", help="this bug; may be repeated")
    add("--level", help="bugs of this level only")
    add("--jobs", type=int, default=os.cpu_count() or 1, help="how many at a time")
    add("--checkers", action="store_true", help="bugs of the checkers")
    add("--canary", metavar="NAME", help="must be caught by random seeds")
    add("--list", action="store_true", help="names and descriptions")
    return parser


def chosen(given: argparse.Namespace) -> list[Bug]:
    """Return the bugs that are asked for. Raises `UnknownBug`, `BugDoesNotFit`, `BadUsage`."""
    bugs = [sim.bugs.load(name) for name in given.only or sim.bugs.names(checkers=given.checkers)]
    if given.level is not None:
        bugs = [bug for bug in bugs if bug.level == given.level]
        if not bugs:
            raise BadUsage(f"--level {given.level}: no such bug is of this level")
    for bug in bugs:
        sim.hook.check_fits(bug)
    return bugs


def run_canary(bug: Bug, seeds: int) -> int:
    """Run random seeds with a bug in; red unless one of them says so."""
    from sim.bugtable import seeds_to_catch

    count, said = seeds_to_catch(bug.name, bug.level, 0, seeds)
    if count is None:
        print(f"canary {bug.name}: {seeds:,} seeds and nobody has noticed: the checkers sleep")
        return GOT_AWAY
    print(f"canary {bug.name}: caught after {count:,} seeds: {said.splitlines()[0][:120]}")
    return CAUGHT


def run_checkers(bugs: list[Bug]) -> int:
    """Print how each bug of a checker is noticed."""
    from sim.bugtable import notice

    code = CAUGHT
    for bug in bugs:
        said = notice(bug)
        print(f"{bug.name}: {said}", flush=True)
        if not said.startswith("noticed"):
            code = GOT_AWAY
    return code


def run_bugs(bugs: list[Bug], given: argparse.Namespace) -> int:
    """Print the table."""
    from sim.bugtable import measure, table

    def tell(row: Row) -> None:
        print(" ".join(row.cells()[:5]), file=sys.stderr, flush=True)

    rows = measure(
        bugs, seeds=given.seeds, starts=given.starts, jobs=given.jobs, level=None, tell=tell
    )
    print(table(rows))
    free = [row.bug.name for row in rows if not row.is_caught]
    if free:
        print(f"\ngot away: {', '.join(free)}")
    return GOT_AWAY if free else CAUGHT


def main() -> int:
    """Run the command line."""
    given = make_parser().parse_args()
    try:
        check_numbers(given)
        if given.canary:
            return run_canary(sim.bugs.load(given.canary), given.seeds)
        bugs = chosen(given)
    except (sim.bugs.UnknownBug, sim.hook.BugDoesNotFit, BadUsage) as error:
        print(f"sim.bugs: {error}", file=sys.stderr)
        return USAGE
    if given.list:
        for bug in bugs:
            print(f"{bug.name}: {bug.description}")
        return CAUGHT
    return run_checkers(bugs) if given.checkers else run_bugs(bugs, given)


if __name__ == "__main__":
    sys.exit(ended(main))
