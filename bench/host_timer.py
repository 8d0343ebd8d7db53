"""The application's own timers: how much later a 5 ms timer rings beside a busy engine.

A write blocks the loop while it runs, so a timer that falls due meanwhile waits for it. The
same timer without an engine is the other half of each round.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import process_time

from bench.open_load import WORKFLOWS, OpenLoad
from bench.raw import RawWrites
from bench.rows import Limit, Row
from bench.stats import p50, p99
from fusee import Engine

PERIOD_S = 0.005
RATE = 20_000
ROUNDS, SECONDS = 5, 1.5
ROUNDS_QUICK, SECONDS_QUICK = 2, 0.6


class Ticker:
    """Rings every 5 ms by a plan made at the beginning; notes how late each ring was, in us."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.late_us: list[float] = []
        self._due = self._loop.time() + PERIOD_S
        self._handle = self._loop.call_at(self._due, self._ring)

    def _ring(self) -> None:
        self.late_us.append((self._loop.time() - self._due) * 1e6)
        self._due += PERIOD_S
        self._handle = self._loop.call_at(self._due, self._ring)

    def stop(self) -> list[float]:
        self._handle.cancel()
        return self.late_us


async def without(seconds: float) -> list[float]:
    """Lateness on a loop that does nothing else."""
    ticker = Ticker()
    await asyncio.sleep(seconds)
    return ticker.stop()


async def without_but_awake(seconds: float) -> list[float]:
    """Lateness on a loop that never sleeps: no rounding of timeouts, no CPU to wake."""
    loop = asyncio.get_running_loop()
    ticker = Ticker()
    until = loop.time() + seconds
    done = loop.create_future()

    def again() -> None:
        if loop.time() < until:
            loop.call_soon(again)
        else:
            done.set_result(None)

    again()
    await done
    return ticker.stop()


async def beside_engine(
    place: Path, seconds: float, name: str
) -> tuple[list[float], OpenLoad, float]:
    """Lateness beside an engine under load, the load, and CPU us of a step."""
    async with Engine.open(place, workflows=WORKFLOWS) as engine:
        load = OpenLoad(engine, RATE, seconds, name)
        ticker = Ticker()
        cpu = process_time()
        await load.run()
        late_us = ticker.stop()
        cpu_us = (process_time() - cpu) / max(1.0, load.achieved * seconds) * 1e6
        await load.drain()
    return late_us, load, cpu_us


async def _measure(place: Path, rounds: int, seconds: float) -> list[Row]:
    none: list[float] = []
    awake: list[float] = []
    loaded: list[float] = []
    raw_us: list[float] = []
    achieved: list[float] = []
    turn_us: list[float] = []
    with RawWrites(place) as raw:
        for number in range(rounds):
            none += await without(seconds)
            awake += await without_but_awake(seconds / 3)
            raw_us += [took / 1000 for took in raw.write(100)]
            late_us, load, cpu_us = await beside_engine(place / "engine", seconds, f"load-{number}")
            loaded += late_us
            achieved.append(load.achieved)
            turn_us.append(cpu_us)
    flush, turn = p50(raw_us), p50(turn_us)
    more = p99(loaded) - p99(none)
    row = Row(
        "host_timer",
        f"5 ms timer beside {RATE:,} steps/s, p99 later by",
        f"{more / flush:.1f} flushes",
        {
            "later_p99_flushes": more / flush,
            "beyond_two_flushes_and_a_turn_us": more - 2 * flush - turn,
            "late_p99_us_none": p99(none),
            "late_p99_us_none_awake": p99(awake),
            "late_p99_us_loaded": p99(loaded),
            "late_p50_us_none": p50(none),
            "late_p50_us_loaded": p50(loaded),
            "raw_p50_us": flush,
            "cpu_us_a_step": turn,
            "achieved_steps_a_second": p50(achieved),
        },
        [
            Limit(
                "beyond_two_flushes_and_a_turn_us",
                "beyond 2 flushes and a turn",
                at_most=0,
                unit="µs",
            ),
            Limit("achieved_steps_a_second", "load", at_least=RATE * 0.95, unit="/s"),
        ],
        [
            f"late by p50 {p50(loaded):.0f}, p99 {p99(loaded):.0f} µs = {p99(loaded) / flush:.1f} "
            f"flushes; without an engine p50 {p50(none):.0f}, p99 {p99(none):.0f} µs, and "
            f"p99 {p99(awake):.0f} µs on a loop that never sleeps",
            f"a flush is {flush:.0f} µs, a turn {turn:.0f} µs; "
            f"load achieved {p50(achieved):,.0f} steps/s of {RATE:,}",
        ],
    )
    return [row]


def measure(place: Path, *, quick: bool) -> list[Row]:
    """One row."""
    if quick:
        return asyncio.run(_measure(place, ROUNDS_QUICK, SECONDS_QUICK))
    return asyncio.run(_measure(place, ROUNDS, SECONDS))
