"""What a step costs on this disk: a chain of steps that do nothing, each waiting for the last."""

from __future__ import annotations

import time
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from fusee import Context, Engine, workflow

if TYPE_CHECKING:
    from pathlib import Path

STEPS = 2_000
STEPS_A_RUN = 100
TIME_S_MAX = 5.0
"""On a disk that takes milliseconds a write, fewer steps tell as much."""

called_at_ns: list[int] = []


async def nothing() -> None:
    """Notes when it was called: between two calls lies all that a step costs."""
    called_at_ns.append(time.perf_counter_ns())


@workflow
async def chain(ctx: Context, steps: int) -> None:
    for _ in range(steps):
        await ctx.step(nothing)


async def measure(directory: Path) -> str:
    """Run the chain alone in an engine of its own and say what it saw."""
    costs_us: list[float] = []
    deadline = time.monotonic() + TIME_S_MAX
    async with Engine.open(str(directory), workflows=[chain]) as engine:
        while len(costs_us) < STEPS and time.monotonic() < deadline:
            called_at_ns.clear()
            await engine.run(chain, f"chain-{len(costs_us)}", STEPS_A_RUN + 1)
            costs_us += [(after - before) / 1_000 for before, after in pairwise(called_at_ns)]
    return (
        f"a step on this disk: p50 {median(costs_us):.0f} µs over {len(costs_us):,} dependent steps"
    )
