"""What a step costs on this disk: a chain of steps that do nothing, each waiting for the last.

Raw durable writes are timed in turns with the chain, in the same directory, so that a noisy
neighbour costs both alike and the ratio means something.
"""

from __future__ import annotations

import time
from itertools import pairwise
from statistics import median, quantiles
from typing import TYPE_CHECKING

from fusee import Context, Engine, workflow
from fusee.io.disk_check import check_disk
from fusee.io.measure import measure_methods, scratch_directory

if TYPE_CHECKING:
    from pathlib import Path

STEPS = 2_000
STEPS_A_TURN = 100
WRITES_A_TURN = 50
TIME_S_MAX = 6.0
"""On a disk that takes milliseconds a write, fewer steps tell as much."""
NOISE_MAX = 4

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
    method = check_disk(directory.parent, writes=WRITES_A_TURN).chosen
    steps_us: list[float] = []
    writes_us: list[float] = []
    deadline = time.monotonic() + TIME_S_MAX
    with scratch_directory(directory.parent) as scratch:
        async with Engine.open(str(directory), workflows=[chain]) as engine:
            while len(steps_us) < STEPS and time.monotonic() < deadline:
                called_at_ns.clear()
                await engine.run(chain, f"chain-{len(steps_us)}", STEPS_A_TURN + 1)
                steps_us += [(after - before) / 1_000 for before, after in pairwise(called_at_ns)]
                (raw,) = measure_methods(
                    scratch, (method,), writes=WRITES_A_TURN, budget_ns=1_000_000_000
                )
                writes_us.append(raw.p50_ns / 1_000)
    text = (
        f"a step on this disk: p50 {median(steps_us):.0f} µs over {len(steps_us):,} dependent "
        f"steps\nthe raw durable write it waits for ({method.label}): "
        f"p50 {median(writes_us):.0f} µs"
    )
    if is_noisy(steps_us) or is_noisy(writes_us):
        return f"{text}\nthe machine is busy, so these vary a lot: measure again when it is quiet"
    return f"{text}, so a step costs {median(steps_us) / median(writes_us):.2f} writes"


def is_noisy(times: list[float]) -> bool:
    """Whether the times fall into two worlds, which no single number describes."""
    tenths = quantiles(times, n=10)
    return tenths[-1] > NOISE_MAX * tenths[0]
