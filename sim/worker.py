"""One worker process: runs seeds that it is handed on stdin, and tells of each when it ends.

    python -m sim.worker --level LEVEL [--bug NAME]

    in    {"from": 0, "to": 100, "ask": {"without": [...], "events_max": 50}}
    out   {"ready": ...}, then one SeedOutcome a line

A process of its own for each worker, because a bug must be there before anything is imported,
because a second hash seed needs a second interpreter, and because a seed may hang or die.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import os
import signal
import sys
from contextlib import suppress
from traceback import format_exception
from typing import TYPE_CHECKING, Any, BinaryIO

import sim.bugs
import sim.hook

if TYPE_CHECKING:
    from sim.hook import Finder

SEEDS_A_COLLECTION = 4
"""A collection looks at every object there is: a tenth of a seed of the full level."""
HANDED_OVER = 3
"""Exit code of a worker that could not begin; stderr says why."""


def run_seed(level: Any, seed: int, options: Any) -> Any:
    """Run one seed; what it raises is an outcome too."""
    from fusee.testing.outcome import SeedOutcome, Verdict

    try:
        outcome = level.run_seed(seed, options)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        lines = "".join(format_exception(error)).splitlines()
        text = f"{type(error).__name__}: {error}".rstrip(": ")
        return SeedOutcome(seed, Verdict.CRASHED, (text,), trace=tuple(lines[-60:]))
    assert outcome.seed == seed, "a level answers for the seed it was asked for"
    return outcome


def serve(level: Any, asked: BinaryIO, told: BinaryIO) -> None:
    """Run what is asked for until there is no more."""
    import msgspec

    from sim.levels import make_options

    def tell(message: object) -> None:
        told.write(msgspec.json.encode(message) + b"\n")
        told.flush()

    tell({"ready": os.getpid()})
    is_warm = False
    for line in asked:
        request = msgspec.json.decode(line)
        options = make_options(level, request["ask"])
        for seed in range(request["from"], request["to"]):
            gc.disable()
            try:
                outcome = run_seed(level, seed, options)
            finally:
                gc.enable()
            tell(outcome)
            if not is_warm or seed % SEEDS_A_COLLECTION == 0:
                gc.collect()
            if not is_warm:
                # What the first seed has imported and cached stays; no collection looks at it.
                gc.freeze()
                is_warm = True


def _check_applied(finders: list[Finder]) -> None:
    for finder in finders:
        if not finder.is_applied:
            raise sim.hook.BugDoesNotFit(
                f"{finder.bug.file}: the level never imports {finder.bug.module}"
            )


def main() -> int:
    """Run one worker."""
    parser = argparse.ArgumentParser(prog="sim.worker", description=__doc__.splitlines()[0])
    parser.add_argument("--level", required=True)
    parser.add_argument("--bug")
    given = parser.parse_args()
    # Ctrl-C goes to everybody; whoever runs the campaign ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Whatever a level prints must not be taken for an answer.
    told = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    finders = [sim.hook.install(bug) for bug in sim.bugs.load_all(given.bug)]
    from sim.levels import load

    try:
        level = load(given.level)
        _check_applied(finders)
    except Exception as error:
        print("".join(format_exception(error)), file=sys.stderr)
        return HANDED_OVER
    with suppress(BrokenPipeError):
        serve(level, sys.stdin.buffer, told)
    return 0


if __name__ == "__main__":
    sys.exit(main())
