"""A load that does not wait: runs start at their scheduled times, however late the engine is.

A load that starts the next run when one has ended slows down with the engine and hides how
long things queue (coordinated omission). Here each run's latency counts from when it was
due, and the achieved rate is said beside the asked one.
"""

from __future__ import annotations

import asyncio
from time import perf_counter, perf_counter_ns
from typing import Any

from fusee import Context, Engine, Workflow, workflow

STEPS = 10
"""Steps of each run of the load."""

_calls = 0
_stamps: list[int] = []
_until_ns = 0


async def serve(number: int) -> int:
    """A step of the load."""
    global _calls  # noqa: PLW0603 - a counter of the whole process
    _calls += 1
    return number + 1


async def tick() -> bool:
    """A step of the lone chain; says whether the chain goes on."""
    now_ns = perf_counter_ns()
    _stamps.append(now_ns)
    return now_ns < _until_ns


@workflow
async def request(ctx: Context) -> int:
    number = 0
    for _ in range(STEPS):
        number = await ctx.step(serve, number)
    return number


@workflow
async def lone_chain(ctx: Context) -> None:
    while await ctx.step(tick):
        pass


WORKFLOWS: list[Workflow[..., Any]] = [request, lone_chain]


class OpenLoad:
    """Starts runs of `request` so that `rate` steps a second are asked for, for some time."""

    def __init__(self, engine: Engine, rate: float, seconds: float, name: str) -> None:
        self.asked = rate
        self.achieved = 0.0
        """Steps a second that ran while the load was on; what came after does not count."""
        self.latencies_s: list[float] = []
        """From when each run was due to its result."""
        self._engine = engine
        self._seconds = seconds
        self._name = name
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Ask for `seconds`, then return; `drain` waits for what is still open."""
        loop = asyncio.get_running_loop()
        begun, before = perf_counter(), _calls
        count = int(self.asked / STEPS * self._seconds)
        for number in range(count):
            due = begun + number * STEPS / self.asked
            if (left_s := due - perf_counter()) > 0:
                await asyncio.sleep(left_s)
            task = loop.create_task(self._one(number, due))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        left_s = begun + self._seconds - perf_counter()
        await asyncio.sleep(max(0.0, left_s))
        self.achieved = (_calls - before) / (perf_counter() - begun)

    async def drain(self) -> None:
        """Wait for every run."""
        while self._tasks:
            await asyncio.gather(*self._tasks)

    async def _one(self, number: int, due: float) -> None:
        assert await self._engine.run(request, f"{self._name}-{number}") == STEPS
        self.latencies_s.append(perf_counter() - due)


async def run_lone_chain(engine: Engine, name: str, seconds: float) -> list[int]:
    """Run a chain for so long; return when each of its steps was called, in ns."""
    global _until_ns  # noqa: PLW0603 - what the step reads
    _stamps.clear()
    _until_ns = perf_counter_ns() + int(seconds * 1e9)
    await engine.run(lone_chain, name)
    return [stamp for stamp in _stamps if stamp < _until_ns]
