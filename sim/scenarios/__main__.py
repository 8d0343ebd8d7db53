"""Play directed scenarios.

    python -m sim.scenarios                    all of them
    python -m sim.scenarios NAME --bug NAME    one, with a deliberate bug in the product

Exit codes: 0 kept; 1 a promise was broken; 2 usage; 130 Ctrl-C; 141 nobody reads on.
"""

from __future__ import annotations

import argparse
import sys
from traceback import print_exc

import sim.bugs
import sim.hook
import sim.scenarios
from sim.ending import ended, leave_at_once

KEPT, BROKEN, USAGE = 0, 1, 2


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m sim.scenarios",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--bug", metavar="NAME", help="put this deliberate bug in first")
    given = parser.parse_args()
    known = sim.scenarios.names()
    for name in given.names:
        if name not in known:
            print(f"sim.scenarios: there is no {name!r}: {', '.join(known)}", file=sys.stderr)
            return USAGE
    try:
        finders = [sim.hook.install(bug) for bug in sim.bugs.load_all(given.bug)]
    except (sim.bugs.UnknownBug, sim.hook.BugDoesNotFit) as error:
        print(f"sim.scenarios: {error}", file=sys.stderr)
        return USAGE
    leave_at_once()
    broken = 0
    for name in given.names or known:
        try:
            sim.scenarios.run(name)
        except sim.scenarios.ScenarioFailed as failed:
            broken += 1
            print(f"{name}: broken\n  {failed}", flush=True)
        except BaseException as error:
            broken += 1
            print(f"{name}: broken\n  {type(error).__name__}: {error}", flush=True)
            print_exc(file=sys.stderr)
        else:
            print(f"{name}: kept", flush=True)
    for finder in finders:
        if not finder.is_applied:
            bug = finder.bug
            print(f"sim.scenarios: {bug.name}: nothing imports {bug.module}", file=sys.stderr)
            return USAGE
    return BROKEN if broken else KEPT


if __name__ == "__main__":
    sys.exit(ended(main))
