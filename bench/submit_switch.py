"""Where a writer thread starts to pay: inline, thread, and thread with a yielding loop.

A loop does CPU-bound turns and always has a write to submit, as an engine under load: each
iteration is a number of turns, then (if none is in flight) the next write. The device sleeps
for d us, without the GIL, as a system call does.

    cycle   from one durable write to the next: what a step waits for
    turns   done a second: what all the other runs get

`thread + sleep` yields by time.sleep(0) after each turn, `thread + yield` by `yield_gil`.

Run: python bench/submit_switch.py [SECONDS_EACH] [--turns N]
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import itertools
import sys
import time
from statistics import median
from threading import get_ident

from fusee.io.clock import SystemClock
from fusee.io.submitter import Submitter
from fusee.io.wakeup import wake_loop

DELAYS_US = (80, 300, 1000, 5000)
BLOCK = bytes(4096)


def exact_sleeps():
    """Take Linux's 50 us of timer slack off this thread's sleeps."""
    if sys.platform == "linux":
        pr_set_timerslack = 29
        ctypes.CDLL(None).prctl(pr_set_timerslack, 1)


class SleepingDevice:
    def __init__(self, delay_us):
        self.flush_ns = delay_us * 1000
        self._delay_s = delay_us / 1e6
        self._is_exact = set()

    def write(self, file, offset, data):
        if get_ident() not in self._is_exact:
            self._is_exact.add(get_ident())
            exact_sleeps()
        time.sleep(self._delay_s)


def turn(loops):
    """Python code of some length: 100 loops are about 4 us, a short step's turn."""
    total = 0
    for index in range(loops):
        total += index
    return total


async def run(delay_us, path, yields, turns, loops, seconds):
    """Return the cycles, sorted, and turns a second."""
    loop = asyncio.get_running_loop()
    submitter = Submitter(SleepingDevice(delay_us), wake_loop(loop), SystemClock())
    submitter.mode.forced = path
    ended_ns = []
    done_turns = 0
    finished = loop.create_future()
    stop_ns = time.perf_counter_ns() + int(seconds * 1e9)

    def iterate():
        nonlocal done_turns
        for _ in range(turns):
            turn(loops)
            if yields == "yield":
                submitter.yield_gil()
            elif yields == "sleep" and submitter.busy:
                time.sleep(0)
        done_turns += turns
        if not submitter.busy:
            if time.perf_counter_ns() > stop_ns:
                finished.set_result(None)
                return
            submitter.submit("log", 0, BLOCK, lambda _: ended_ns.append(time.perf_counter_ns()))
        loop.call_soon(iterate)

    loop.call_soon(iterate)
    await finished
    submitter.close()
    cycles_us = sorted((b - a) / 1000 for a, b in itertools.pairwise(ended_ns))
    took_s = seconds if len(ended_ns) < 2 else (ended_ns[-1] - ended_ns[0]) / 1e9
    return cycles_us, done_turns / took_s


def row(delay_us, name, cycles_us, rate):
    if len(cycles_us) < 2:
        cycle = "starved: hardly a write ended".rjust(30)
    else:
        p99 = cycles_us[int(len(cycles_us) * 0.99)]
        cycle = f"{median(cycles_us):>9.0f} us {p99:>14.0f} us"
    return f"{delay_us:>5} us  {name:<15} {cycle} {rate:>9.0f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", nargs="?", type=float, default=1.0)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--turn-loops", type=int, default=100, help="length of a turn")
    parser.add_argument("--uvloop", action="store_true")
    options = parser.parse_args()
    factory = None
    if options.uvloop:
        import uvloop

        factory = uvloop.new_event_loop
    print(f"{options.turns} turns an iteration, switch interval {sys.getswitchinterval()} s")
    print(f"{'device':>8}  {'path':<15} {'cycle p50':>12} {'p99':>17} {'turns/s':>9}")
    for delay_us in DELAYS_US:
        for name, path, yields in (
            ("inline", "inline", ""),
            ("thread", "thread", ""),
            ("thread + sleep", "thread", "sleep"),
            ("thread + yield", "thread", "yield"),
        ):
            with asyncio.Runner(loop_factory=factory) as runner:
                cycles_us, rate = runner.run(
                    run(delay_us, path, yields, options.turns, options.turn_loops, options.seconds)
                )
            print(row(delay_us, name, cycles_us, rate), flush=True)


if __name__ == "__main__":
    main()
