"""A chain of dependent steps: what a step costs, in raw writes of the same disk.

From the start of one step's function to the start of the next lies everything a step costs:
its result becomes bytes, the run's code turns, the next step is recorded, and that record
is on the disk. Raw writes and steps alternate in short blocks, first one then the other and
the other way round, so that a neighbour's burst costs both alike.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import perf_counter_ns, thread_time_ns

from bench.raw import RawWrites, calibration_notes
from bench.rows import UNREST, Limit, Row
from bench.stats import gaps, p50, p99, spread, unrest, us
from fusee import Context, Engine, workflow

STEPS = 100
ROUNDS = 20
ROUNDS_QUICK = 6
MEMORY_STEPS = 2000

stamps: list[int] = []


async def stamp() -> None:
    """Note when it was called."""
    stamps.append(perf_counter_ns())


@workflow
async def chain(ctx: Context, steps: int) -> None:
    for _ in range(steps):
        await ctx.step(stamp)


class Block:
    """One chain: the gaps between its steps, and the CPU time of this thread for all of it."""

    def __init__(self, cpu_ns: int) -> None:
        self.gaps_ns = gaps(stamps)
        self.mean_ns = (stamps[-1] - stamps[0]) / len(self.gaps_ns)
        self.cpu_ns = cpu_ns / len(stamps)


async def run_chain(engine: Engine, name: str, steps: int) -> Block:
    """Run one chain; its first step has no step before it, hence one more."""
    stamps.clear()
    cpu_ns = thread_time_ns()
    await engine.run(chain, name, steps + 1)
    assert len(stamps) == steps + 1, "every step ran, once"
    return Block(thread_time_ns() - cpu_ns)


class Seen:
    """What all rounds on the disk showed."""

    def __init__(self) -> None:
        self.ratios: list[float] = []
        self.steps_ns: list[int] = []
        self.raw_ns: list[int] = []
        self.cpu_ns: list[float] = []
        self.raw_cpu_ns: list[float] = []
        self.writes = 0
        self.calibrated_ns = 0

    def write_raw(self, raw: RawWrites) -> list[int]:
        cpu_ns = thread_time_ns()
        took = raw.write(STEPS)
        self.raw_cpu_ns.append((thread_time_ns() - cpu_ns) / STEPS)
        return took

    def figures(self) -> dict[str, float]:
        return {
            "ratio": p50(self.ratios),
            "step_p50_us": p50(self.steps_ns) / 1000,
            "step_p99_us": p99(self.steps_ns) / 1000,
            "raw_p50_us": p50(self.raw_ns) / 1000,
            "raw_p99_us": p99(self.raw_ns) / 1000,
            UNREST: unrest(self.raw_ns),
            "cpu_us_a_step": p50(self.cpu_ns) / 1000,
            "cpu_us_a_raw_write": p50(self.raw_cpu_ns) / 1000,
            # Each step waits for a write of its own, or the ratio is not what it says.
            "writes_a_step": self.writes / (len(self.ratios) * (STEPS + 1)),
        }

    def row(self) -> Row:
        return Row(
            "chain",
            "dependent steps, p50 / raw write p50",
            spread(self.ratios),
            self.figures(),
            [
                # Below 1 is impossible: then a neighbour was measured, not the engine.
                Limit("ratio", "ratio", at_most=1.20, at_least=0.95),
                Limit("writes_a_step", "writes a step", at_least=1.0),
            ],
            [
                f"step p50 {us(p50(self.steps_ns))}, p99 {us(p99(self.steps_ns))}; raw write p50 "
                f"{us(p50(self.raw_ns))}, p99 {us(p99(self.raw_ns))}; aim 1.08",
                f"{us(p50(self.cpu_ns))} of CPU a step, of which a raw write takes "
                f"{us(p50(self.raw_cpu_ns))}; {len(self.ratios)} rounds of {STEPS} steps",
                *calibration_notes(self.calibrated_ns, self.raw_ns),
            ],
        )


async def on_disk(place: Path, rounds: int) -> Row:
    """The chain against raw writes."""
    seen = Seen()
    with RawWrites(place) as raw:
        async with Engine.open(place / "engine", workflows=[chain]) as engine:
            await run_chain(engine, "warm-up", 4 * STEPS)
            raw.write(STEPS)
            node, device = engine.life.assembly.node, engine.life.assembly.device
            assert device is not None
            seen.calibrated_ns = device.flush_ns
            before = node.batches_written
            for number in range(rounds):
                writes = seen.write_raw(raw) if number % 2 else []
                block = await run_chain(engine, f"chain-{number}", STEPS)
                writes = writes or seen.write_raw(raw)
                seen.ratios.append(p50(block.gaps_ns) / p50(writes))
                seen.steps_ns += block.gaps_ns
                seen.raw_ns += writes
                seen.cpu_ns.append(block.cpu_ns)
            seen.writes = node.batches_written - before
    return seen.row()


async def in_memory(rounds: int) -> Row:
    """The same chain on a replica whose writes complete at once."""
    means: list[float] = []
    middles: list[float] = []
    cpu_ns: list[float] = []
    async with Engine.open(":memory:", workflows=[chain]) as engine:
        await run_chain(engine, "warm-up", MEMORY_STEPS)
        for number in range(rounds):
            block = await run_chain(engine, f"chain-{number}", MEMORY_STEPS)
            means.append(block.mean_ns / 1000)
            middles.append(p50(block.gaps_ns) / 1000)
            cpu_ns.append(block.cpu_ns)
    return Row(
        "chain_memory",
        "the same in :memory:, µs a step",
        f"{spread(means)}",
        {
            "step_mean_us": p50(means),
            "step_p50_us": p50(middles),
            "cpu_us_a_step": p50(cpu_ns) / 1000,
        },
        [Limit("step_mean_us", "a step", at_most=10, unit="µs")],
        [
            f"the mean, since 64 steps share one turn of the loop; p50 {p50(middles):.1f} µs, "
            f"CPU {p50(cpu_ns) / 1000:.1f} µs; aim 4"
        ],
    )


async def _measure(place: Path, rounds: int) -> list[Row]:
    return [await on_disk(place, rounds), await in_memory(rounds)]


def measure(place: Path, *, quick: bool) -> list[Row]:
    """Both rows."""
    return asyncio.run(_measure(place, ROUNDS_QUICK if quick else ROUNDS))
