"""Two read-only steps and then one with effects: how often the disk is written before it acts.

Counted at the device, from one step with effects to the next. The same chain with three
steps with effects is the control: it shows that the counter counts.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import fusee
from bench.rows import Limit, Row
from bench.stats import p50
from bench.watch import Watched
from fusee import Context, workflow

RUNS = 50

acted: list[int] = []
"""Writes the device had seen at each call of a step with effects."""
watched: list[Watched] = []


@fusee.step(read_only=True)
async def look(number: int) -> int:
    return number + 1


@fusee.step(read_only=True)
async def look_and_wait(number: int) -> int:
    """As one that reads from a network: the loop turns meanwhile."""
    await asyncio.sleep(0.0005)
    return number + 1


async def act(number: int) -> int:
    acted.append(watched[-1].device.batches)
    return number + 1


@workflow
async def reading(ctx: Context) -> int:
    number = await ctx.step(act, 0)
    number = await ctx.step(look, number)
    number = await ctx.step(look, number)
    return await ctx.step(act, number)


@workflow
async def reading_slowly(ctx: Context) -> int:
    number = await ctx.step(act, 0)
    number = await ctx.step(look_and_wait, number)
    number = await ctx.step(look_and_wait, number)
    return await ctx.step(act, number)


@workflow
async def acting(ctx: Context) -> int:
    number = 0
    for _ in range(4):
        number = await ctx.step(act, number)
    return number


async def _writes_between(kind: fusee.Workflow[[], int]) -> list[float]:
    """Device writes from the first to the last step with effects, of each run."""
    found: list[float] = []
    for number in range(RUNS):
        acted.clear()
        assert await watched[-1].engine.run(kind, f"{kind.name}-{number}") == 4
        found.append(acted[-1] - acted[0])
    return found


async def _measure(place: Path) -> list[Row]:
    watched.append(Watched(place / "engine", [reading, reading_slowly, acting]))
    async with watched[-1].engine:
        writes = await _writes_between(reading)
        slowly = await _writes_between(reading_slowly)
        control = await _writes_between(acting)
    row = Row(
        "read_only",
        "two reads, then an effect: flushes",
        f"{max(writes):g} at most, p50 {p50(writes):g}",
        {
            "flushes_max": max(writes),
            "flushes_reads_that_wait": p50(slowly),
            "flushes_three_effects": min(control),
        },
        [
            Limit("flushes_max", "flushes", at_most=1, at_least=1),
            Limit("flushes_three_effects", "control", at_least=3),
        ],
        [
            f"control, three steps with effects: {p50(control):g}; reads that wait for something: "
            f"{p50(slowly):g} writes, two of them behind the reads' backs"
        ],
    )
    return [row]


def measure(place: Path, *, quick: bool) -> list[Row]:
    """A count; it takes no time, so `quick` changes nothing."""
    return asyncio.run(_measure(place))
