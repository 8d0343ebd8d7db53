"""A level that fails in every way on demand: what the runner is tested with."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from zlib import crc32

from fusee.testing.outcome import SeedOutcome, Verdict
from fusee.testing.trace import Trace

NAME = "tiny"
FAMILIES = ("torn", "lost", "rot")
MARKS = ("even", "odd")
WORK = {"commits": 5}
WORKLOADS = ("clean", "broken", "dies", "exits", "hangs", "raises", "leaks", "idle", "unmarked")
BAD_SEED = 5


@dataclass(frozen=True, slots=True)
class Options:
    without: frozenset[str] = frozenset()
    events_max: int = 100
    clients_max: int = 4
    workload: str = "clean"


def run_seed(seed: int, options: Options) -> SeedOutcome:
    trace = Trace()
    events = min(100, options.events_max)
    for number in range(events):
        trace.add(number, "event", crc32(b"%d/%d" % (seed, number)))
    trace_hash = trace.hash
    counters = {
        "events": events,
        "crashes": 3,
        "recoveries": 3,
        "commits": 0 if options.workload == "idle" else 10 + seed % 3,
    }
    counters |= {f"fault:{family}": 1 for family in FAMILIES if family not in options.without}
    marks = ("even",) if seed % 2 == 0 or options.workload == "unmarked" else ("odd",)
    if options.workload == "leaks":
        trace_hash = hash("salted") & 0xFFFFFFFF
    if seed == BAD_SEED:
        if options.workload == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if options.workload == "exits":
            print("last words", flush=True)
            os._exit(3)
        if options.workload == "hangs":
            time.sleep(600)
        if options.workload == "raises":
            raise ZeroDivisionError("of our own code")
        needs = "lost" not in options.without and events >= 37 and options.clients_max >= 2
        if options.workload == "broken" and needs:
            said = ("acknowledged start of a/1 is lost", "and one more")
            return SeedOutcome(
                seed, Verdict.VIOLATION, said, trace_hash, counters, marks, trace.lines()
            )
    return SeedOutcome(seed, Verdict.CLEAN, (), trace_hash, counters, marks)
