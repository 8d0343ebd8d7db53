"""The short form of `bench/submit_switch.py`: where a writer thread starts to pay."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bench.rows import Row
from bench.stats import p50
from bench.submit_switch import run

DELAYS_US = (80, 300, 1000)
PATHS = (("inline", "inline", ""), ("thread", "thread", ""), ("yielding", "thread", "yield"))
TURNS, TURN_LOOPS = 4, 100
SECONDS, SECONDS_QUICK = 0.8, 0.15


def measure(place: Path, *, quick: bool) -> list[Row]:
    """One row, reported: from one durable write to the next, and turns a second."""
    figures: dict[str, float] = {}
    notes: list[str] = []
    for delay_us in DELAYS_US:
        said: list[str] = []
        for name, path, yields in PATHS:
            cycles_us, rate = asyncio.run(
                run(delay_us, path, yields, TURNS, TURN_LOOPS, SECONDS_QUICK if quick else SECONDS)
            )
            figures[f"cycle_us_{name}_{delay_us}"] = p50(cycles_us)
            figures[f"turns_a_second_{name}_{delay_us}"] = rate
            said.append(f"{name} {p50(cycles_us):,.0f} µs, {rate:,.0f} turns/s")
        notes.append(f"a write of {delay_us:,} µs: {'; '.join(said)}")
    shown = " / ".join(f"{figures[f'cycle_us_{name}_80']:.0f}" for name, *_ in PATHS)
    return [
        Row(
            "submit_switch",
            "inline / thread / yielding, a write of 80 µs",
            f"{shown} µs",
            figures,
            [],
            notes,
        )
    ]
