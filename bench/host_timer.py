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
from bench.rows import UNREST, Limit, Row
from bench.stats import p50, p99, unrest
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


class Seen:
    """What all rounds showed, times in us."""

    def __init__(self) -> None:
        self.none: list[float] = []
        self.awake: list[float] = []
        self.loaded: list[float] = []
        self.raw: list[float] = []
        self.turns: list[float] = []
        self.achieved: list[float] = []

    def figures(self) -> dict[str, float]:
        flush, turn = p50(self.raw), p50(self.turns)
        more = p99(self.loaded) - p99(self.none)
        return {
            "later_p99_flushes": more / flush,
            "beyond_two_flushes_and_a_turn_us": more - 2 * flush - turn,
            "late_p99_us_none": p99(self.none),
            "late_p99_us_none_awake": p99(self.awake),
            "late_p99_us_loaded": p99(self.loaded),
            "late_p50_us_none": p50(self.none),
            "late_p50_us_loaded": p50(self.loaded),
            "raw_p50_us": flush,
            UNREST: unrest(self.raw),
            "cpu_us_a_step": turn,
            "achieved_steps_a_second": p50(self.achieved),
        }


def _row(figures: dict[str, float]) -> Row:
    flush, late = figures["raw_p50_us"], figures["late_p99_us_loaded"]
    return Row(
        "host_timer",
        f"5 ms timer beside {RATE:,} steps/s, p99 later by",
        f"{figures['later_p99_flushes']:.1f} flushes",
        figures,
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
            f"late by p50 {figures['late_p50_us_loaded']:.0f}, p99 {late:.0f} µs = "
            f"{late / flush:.1f} flushes; without an engine p50 {figures['late_p50_us_none']:.0f}, "
            f"p99 {figures['late_p99_us_none']:.0f} µs, and p99 "
            f"{figures['late_p99_us_none_awake']:.0f} µs on a loop that never sleeps",
            f"a flush is {flush:.0f} µs, a turn {figures['cpu_us_a_step']:.0f} µs; load achieved "
            f"{figures['achieved_steps_a_second']:,.0f} steps/s of {RATE:,}",
        ],
    )


async def _measure(place: Path, rounds: int, seconds: float) -> list[Row]:
    seen = Seen()
    with RawWrites(place) as raw:
        for number in range(rounds):
            seen.none += await without(seconds)
            seen.awake += await without_but_awake(seconds / 3)
            seen.raw += [took / 1000 for took in raw.write(100)]
            late_us, load, cpu_us = await beside_engine(place / "engine", seconds, f"load-{number}")
            seen.loaded += late_us
            seen.achieved.append(load.achieved)
            seen.turns.append(cpu_us)
    return [_row(seen.figures())]


def measure(place: Path, *, quick: bool) -> list[Row]:
    """One row."""
    if quick:
        return asyncio.run(_measure(place, ROUNDS_QUICK, SECONDS_QUICK))
    return asyncio.run(_measure(place, ROUNDS, SECONDS))
