"""Cost of one turn: an outcome wakes a task, which awaits the next.

    python bench/micro_loop.py            prints us a turn; exits 1 over the limit
    python bench/micro_loop.py --limit 3

The reference drives a plain C task by hand with the least a loop can do, so the difference is what
hashing by number, a running loop and a handle cost. Figures are
CPU time, which a busy machine disturbs less.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from asyncio import _set_running_loop
from collections import deque
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from fusee.loop.tasks import WorkflowFuture
from fusee.loop.workflow_loop import WorkflowLoop

TURNS = 50_000
ROUNDS = 7


class NoTimers:
    def now_us(self) -> int:
        return 0

    def start_timer(self, due_us: int, fire: Any, name: str) -> int:
        raise NotImplementedError

    def cancel_timer(self, position: int) -> None:
        raise NotImplementedError


class Bare:
    """What a C task needs of a loop, and nothing else."""

    def __init__(self) -> None:
        self.ready: deque[Any] = deque()

    def get_debug(self) -> bool:
        return False

    def call_exception_handler(self, context: Any) -> None:
        print(context, file=sys.stderr)

    def call_soon(self, callback: Any, *args: Any, context: Any = None) -> None:
        self.ready.append((context.run, callback, args))

    def run(self) -> None:
        while self.ready:
            run, callback, args = self.ready.popleft()
            run(callback, *args)


def per_turn(loop: Any, make_future: Any, make_task: Any, turn: Any) -> float:
    future: Any = None

    async def workflow() -> None:
        nonlocal future
        for _ in range(TURNS):
            future = make_future()
            await future

    task = make_task(workflow())
    turn()
    begun = time.thread_time()
    while not task.done():
        future.set_result(None)
        turn()
    return (time.thread_time() - begun) / TURNS * 1e6


def bare() -> float:
    loop: Any = Bare()
    _set_running_loop(loop)
    try:
        return per_turn(
            loop,
            partial(asyncio.Future, loop=loop),
            partial(asyncio.Task, loop=loop),
            loop.run,
        )
    finally:
        _set_running_loop(None)


def ours(*, batched: bool) -> float:
    loop = WorkflowLoop(NoTimers())
    turn = loop.turn if batched else loop.run_until_idle
    try:
        return per_turn(loop, partial(WorkflowFuture, loop), loop.create_task, turn)
    finally:
        _set_running_loop(None)


def construct() -> float:
    loop = WorkflowLoop(NoTimers())
    begun = time.thread_time()
    for _ in range(TURNS):
        WorkflowFuture(loop)
    return (time.thread_time() - begun) / TURNS * 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=3.0, help="us; fail over it")
    limit = parser.parse_args().limit
    rows = {
        "C task by hand": bare,
        "run_until_idle": partial(ours, batched=False),
        "turn, in a batch": partial(ours, batched=True),
        "WorkflowFuture(loop)": construct,
    }
    best = {name: min(measure() for _ in range(ROUNDS)) for name, measure in rows.items()}
    print(f"Python {sys.version.split()[0]}")
    for name, microseconds in best.items():
        print(f"{name:22}{microseconds:6.2f} us")
    return int(best["run_until_idle"] > limit)


if __name__ == "__main__":
    raise SystemExit(main())
