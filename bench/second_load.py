"""A lone chain beside a second load: what others cost a step, and what group commit brings.

Each round runs every rate, with raw writes right before and after each; ratios are taken
within one of these and the median of the rounds counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from bench.open_load import WORKFLOWS, OpenLoad, run_lone_chain
from bench.raw import RawWrites, calibration_notes
from bench.rows import UNREST, Limit, Row
from bench.stats import gaps, p50, p99, spread, unrest
from bench.watch import Watched

RATES = (0, 5_000, 20_000)
RAW_WRITES = 50
ROUNDS, SECONDS = 5, 0.6
ROUNDS_QUICK, SECONDS_QUICK = 3, 0.25


class Slice:
    """What one rate in one round showed; times in raw flushes of the same moment."""

    chain: float
    chain_p99: float
    wait: float
    wait_ns: float
    latency: float
    achieved: float
    writes_an_iteration: float
    records_a_flush: float
    raw_unrest: float


async def _slice(watched: Watched, raw: RawWrites, rate: int, seconds: float, name: str) -> Slice:
    raw_ns = raw.write(RAW_WRITES)
    load = OpenLoad(watched.engine, rate or 1, seconds if rate else 0.0, name)
    device, node, pump = watched.device, watched.node, watched.engine.life.pump
    node.reset()
    writes, batches, iterations = device.writes, device.batches, pump.iterations
    stamps, _ = await asyncio.gather(
        run_lone_chain(watched.engine, f"{name}-chain", seconds), load.run()
    )
    seen = Slice()
    seen.writes_an_iteration = (device.writes - writes) / (pump.iterations - iterations)
    seen.records_a_flush = node.records() / (device.batches - batches)
    seen.wait_ns = p50(node.waits_ns)
    await load.drain()
    raw_ns += raw.write(RAW_WRITES)
    flush_ns = p50(raw_ns)
    seen.raw_unrest = unrest(raw_ns)
    seen.chain = p50(gaps(stamps)) / flush_ns
    seen.chain_p99 = p99(gaps(stamps)) / flush_ns
    seen.wait = seen.wait_ns / flush_ns
    seen.latency = p50(load.latencies_s) * 1e9 / flush_ns
    seen.achieved = load.achieved
    return seen


def _row(rate: int, slices: list[Slice]) -> Row:
    def of(figure: Callable[[Slice], float]) -> float:
        return p50([figure(seen) for seen in slices])

    chain = [seen.chain for seen in slices]
    figures = {
        "chain_p50_flushes": p50(chain),
        "chain_p99_flushes": of(lambda seen: seen.chain_p99),
        "record_wait_p50_flushes": of(lambda seen: seen.wait),
        "records_a_flush": of(lambda seen: seen.records_a_flush),
        UNREST: of(lambda seen: seen.raw_unrest),
        "writes_an_iteration": of(lambda seen: seen.writes_an_iteration),
        "achieved_steps_a_second": of(lambda seen: seen.achieved),
    }
    limits = [
        Limit("chain_p50_flushes", "chain p50", at_most=2, at_least=0.95, unit="flushes"),
        Limit("writes_an_iteration", "writes an iteration", at_most=1.1),
    ]
    notes = [
        f"{figures['writes_an_iteration']:.2f} writes an iteration, "
        f"{figures['records_a_flush']:.1f} records a flush, a record waits "
        f"{figures['record_wait_p50_flushes']:.2f} flushes; chain p99 "
        f"{figures['chain_p99_flushes']:.1f} flushes"
    ]
    if rate:
        figures["run_latency_p50_flushes"] = of(lambda seen: seen.latency)
        limits.append(Limit("achieved_steps_a_second", "load", at_least=rate * 0.95, unit="/s"))
        notes.append(
            f"load achieved {figures['achieved_steps_a_second']:,.0f} steps/s of {rate:,}; a run "
            f"took {figures['run_latency_p50_flushes']:.0f} flushes from when it was due"
        )
    name = f"second_load_{rate}"
    return Row(
        name, f"lone chain beside {rate:,} steps/s, p50", spread(chain), figures, limits, notes
    )


def _group_commit(rows: list[Row]) -> Row:
    """Records a flush grow with the load, and nobody waits for more than two flushes."""
    carried = [row.figures["records_a_flush"] for row in rows]
    waits = [row.figures["record_wait_p50_flushes"] for row in rows]
    growth = [after / before for before, after in pairwise(carried)]
    return Row(
        "group_commit",
        "records a flush at 0, 5,000, 20,000 steps/s",
        ", ".join(f"{value:.1f}" for value in carried),
        {
            "growth_min": min(growth),
            "wait_min": min(waits),
            "wait_max": max(waits),
            UNREST: max(row.figures[UNREST] for row in rows),
        },
        [
            Limit("growth_min", "each over the one before", at_least=1.1),
            # A record that shares its iteration's end waits one flush; less is a clock's noise.
            Limit("wait_min", "shortest wait", at_least=0.9, unit="flushes"),
            Limit("wait_max", "longest wait", at_most=2, unit="flushes"),
        ],
        [f"median wait of a record {', '.join(f'{value:.2f}' for value in waits)} flushes"],
    )


async def _measure(place: Path, rounds: int, seconds: float) -> list[Row]:
    slices: dict[int, list[Slice]] = {rate: [] for rate in RATES}
    watched = Watched(place / "engine", WORKFLOWS)
    with RawWrites(place) as raw:
        async with watched.engine:
            await _slice(watched, raw, RATES[1], 0.2, "warm-up")
            for number in range(rounds):
                for rate in RATES:
                    seen = await _slice(watched, raw, rate, seconds, f"{number}-{rate}")
                    slices[rate].append(seen)
        rows = [_row(rate, slices[rate]) for rate in RATES]
        rows[0].notes += calibration_notes(watched.device.flush_ns, raw.write(RAW_WRITES))
    return [*rows, _group_commit(rows)]


def measure(place: Path, *, quick: bool) -> list[Row]:
    """A row for each rate, and one over all of them."""
    if quick:
        return asyncio.run(_measure(place, ROUNDS_QUICK, SECONDS_QUICK))
    return asyncio.run(_measure(place, ROUNDS, SECONDS))
