"""Many workflows at once: steps a second, from the first call of start to the last result."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path
from time import perf_counter, process_time, thread_time

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


class Collections:
    """How much CPU the garbage collector takes, and what it finds: a finished run should leave
    nothing that only it can free."""

    def __init__(self) -> None:
        self.s = 0.0
        self.objects = 0
        self._begun = 0.0
        gc.callbacks.append(self._called)

    def _called(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._begun = thread_time()
        else:
            self.s += thread_time() - self._begun
            self.objects += info["collected"]

    def close(self) -> None:
        gc.callbacks.remove(self._called)


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


async def _rounds(engine: Engine, rounds: int) -> Seen:
    await run_all(engine, "warm-up")
    collections = Collections()
    rates: list[float] = []
    cpu_us: list[float] = []
    for number in range(rounds):
        took, cpu = await run_all(engine, f"round-{number}")
        rates.append(WORKFLOWS * STEPS / took)
        cpu_us.append(cpu / WORKFLOWS / STEPS * 1e6)
    collections.close()
    return Seen(rates, cpu_us, collections)


class Seen:
    """What all rounds showed."""

    def __init__(self, rates: list[float], cpu_us: list[float], collections: Collections) -> None:
        self.text = f"{p50(rates):,.0f} [{min(rates):,.0f}-{max(rates):,.0f}]"
        gc_share = collections.s / (sum(cpu_us) / 1e6 * WORKFLOWS * STEPS)
        garbage = collections.objects / (WORKFLOWS * len(rates))
        self.figures = {
            "steps_a_second": p50(rates),
            "steps_a_second_best": max(rates),
            "cpu_us_a_step": p50(cpu_us),
            "gc_share_of_cpu": gc_share,
            "cyclic_objects_a_run": garbage,
        }
        self.note = (
            f"{spread(cpu_us)} µs of CPU a step, all threads, starts and results included; "
            f"garbage collection {gc_share:.0%} of it, {garbage:.0f} objects a run"
        )


async def _measure(place: Path, rounds: int) -> list[Row]:
    async with Engine.open(place / "engine", workflows=[count_up]) as engine:
        node = engine.life.assembly.node
        written = node.batches_written
        seen = await _rounds(engine, rounds)
        written = node.batches_written - written
    batch_steps = (rounds + 1) * WORKFLOWS * STEPS / written
    disk = Row(
        "many",
        f"{WORKFLOWS:,} workflows x {STEPS} steps, steps/s",
        seen.text,
        seen.figures | {"steps_a_write": batch_steps},
        [Limit("steps_a_second", "steps/s", at_least=50_000)],
        [seen.note, f"{batch_steps:.0f} steps a write; aim 120,000"],
    )
    async with Engine.open(":memory:", workflows=[count_up]) as engine:
        seen = await _rounds(engine, rounds)
    memory = Row(
        "many_memory",
        "the same in :memory:, steps/s",
        seen.text,
        seen.figures,
        [],
        [seen.note],
    )
    return [disk, memory]


def measure(place: Path, *, quick: bool) -> list[Row]:
    """On disk and in memory."""
    return asyncio.run(_measure(place, ROUNDS_QUICK if quick else ROUNDS))
