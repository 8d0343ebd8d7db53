"""Many workflows at once: steps a second, from the first call of start to the last result."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import perf_counter, process_time

from bench.rows import Limit, Row
from bench.stats import p50, spread
from fusee import Context, Engine, workflow

WORKFLOWS = 1000
STEPS = 10
ROUNDS = 5
ROUNDS_QUICK = 3

calls = 0


async def count(number: int) -> int:
    """A step with a value in and a value out."""
    global calls  # noqa: PLW0603 - a counter of the whole process
    calls += 1
    return number + 1


@workflow
async def count_up(ctx: Context, steps: int) -> int:
    total = 0
    for _ in range(steps):
        total = await ctx.step(count, total)
    return total


async def run_all(engine: Engine, name: str) -> tuple[float, float]:
    """Run all workflows to their ends; return wall clock and CPU of the process, in seconds."""
    before = calls
    begun, cpu = perf_counter(), process_time()
    results = await asyncio.gather(
        *(engine.run(count_up, f"{name}-{number}", STEPS) for number in range(WORKFLOWS))
    )
    took, cpu = perf_counter() - begun, process_time() - cpu
    assert results == [STEPS] * WORKFLOWS
    assert calls - before == WORKFLOWS * STEPS, "every step ran, once"
    return took, cpu


async def _rounds(engine: Engine, rounds: int) -> tuple[list[float], list[float]]:
    await run_all(engine, "warm-up")
    rates: list[float] = []
    cpu_us: list[float] = []
    for number in range(rounds):
        took, cpu = await run_all(engine, f"round-{number}")
        rates.append(WORKFLOWS * STEPS / took)
        cpu_us.append(cpu / WORKFLOWS / STEPS * 1e6)
    return rates, cpu_us


def _figures(rates: list[float], cpu_us: list[float]) -> dict[str, float]:
    return {
        "steps_a_second": p50(rates),
        "steps_a_second_best": max(rates),
        "cpu_us_a_step": p50(cpu_us),
    }


def _text(rates: list[float]) -> str:
    return f"{p50(rates):,.0f} [{min(rates):,.0f}-{max(rates):,.0f}]"


async def _measure(place: Path, rounds: int) -> list[Row]:
    async with Engine.open(place / "engine", workflows=[count_up]) as engine:
        node = engine.life.assembly.node
        written = node.batches_written
        rates, cpu_us = await _rounds(engine, rounds)
        written = node.batches_written - written
    batch_steps = (rounds + 1) * WORKFLOWS * STEPS / written
    disk = Row(
        "many",
        f"{WORKFLOWS:,} workflows x {STEPS} steps, steps/s",
        _text(rates),
        _figures(rates, cpu_us) | {"steps_a_write": batch_steps},
        [Limit("steps_a_second", "steps/s", at_least=50_000)],
        [
            f"{spread(cpu_us)} µs of CPU a step, all threads, starts and results included; "
            f"{batch_steps:.0f} steps a write; aim 120,000"
        ],
    )
    async with Engine.open(":memory:", workflows=[count_up]) as engine:
        rates, cpu_us = await _rounds(engine, rounds)
    memory = Row(
        "many_memory",
        "the same in :memory:, steps/s",
        _text(rates),
        _figures(rates, cpu_us),
        [],
        [f"{spread(cpu_us)} µs of CPU a step"],
    )
    return [disk, memory]


def measure(place: Path, *, quick: bool) -> list[Row]:
    """On disk and in memory."""
    return asyncio.run(_measure(place, ROUNDS_QUICK if quick else ROUNDS))
