"""Reopening: how fast a log is read back, and how soon a reopened engine commits.

    build    runs with documents of about 1 KiB, through an engine, until the log is long enough
    raw      the same files read with O_DIRECT and nothing else: what the disk allows
    open     in a fresh process, from `Engine.open` to the end of its `__aenter__`

Two lengths of one log, so that "linear in the tail" is measured, not assumed.

    python -m bench.reopen build|open|park|first-commit DIR [MIB]     what the row's processes do
"""

from __future__ import annotations

import asyncio
import json
import mmap
import os
import random
import resource
import subprocess
import sys
from pathlib import Path
from time import perf_counter

from bench.rows import Limit, Row
from bench.stats import p50
from bench.watch import Watched
from fusee import Context, Engine, workflow

MIB = 1 << 20
TAIL_MIB, TAIL_MIB_QUICK = 1024, 64
STEPS = 10
PARKED = 1000
OPENINGS = 3

_random = random.Random(1)  # The same documents in each run.


def document() -> str:
    """An order as one sees them, as JSON text of about 1 KiB: names, numbers, a few lines."""
    order = {
        "order": _random.randrange(10**9),
        "customer": {
            "name": f"customer {_random.random()}",
            "mail": f"{_random.random()}@x.example",
        },
        "lines": [
            {
                "sku": f"{_random.getrandbits(64):016x}",
                "count": n,
                "cents": _random.randrange(10**5),
            }
            for n in range(12)
        ],
        "note": f"{_random.getrandbits(1400):x}",
    }
    return json.dumps(order)


DOCUMENTS = [document() for _ in range(256)]


async def advance(order: str) -> str:
    """A step that takes a document and returns one."""
    return DOCUMENTS[hash(order) % len(DOCUMENTS)]


@workflow
async def handle(ctx: Context, number: int) -> int:
    order = DOCUMENTS[number % len(DOCUMENTS)]
    for _ in range(STEPS):
        order = await ctx.step(advance, order)
    return number


last_steps: list[str] = []
all_parked = asyncio.Event()


async def last_step(order: str) -> None:
    """The last step before a run parks."""
    last_steps.append(order)
    if len(last_steps) == PARKED:
        asyncio.get_running_loop().call_later(0.2, all_parked.set)


@workflow
async def park(ctx: Context) -> None:
    order = DOCUMENTS[0]
    for _ in range(2):
        order = await ctx.step(advance, order)
    await ctx.step(last_step, order)
    await ctx.wait_for("go")


@workflow
async def empty(ctx: Context) -> int:
    return 1


# ------------------------------------------------------------ what the processes do


async def build(directory: Path, mib: int, wave: int) -> dict[str, float]:
    """Run waves of workflows until this process has written so much log."""
    watched = Watched(directory, [handle])
    begun = perf_counter()
    number = 0
    async with watched.engine as engine:
        while watched.device.frame_bytes < mib * MIB:
            first = f"{os.getpid()}-{number}"
            await asyncio.gather(*(engine.run(handle, f"{first}-{n}", n) for n in range(wave)))
            number += 1
    return {
        "frame_bytes": watched.device.frame_bytes,
        "steps": number * wave * STEPS,
        "s": perf_counter() - begun,
    }


async def reopen(directory: Path) -> dict[str, float]:
    """Open, and read one old result to prove that the log was read."""
    begun = perf_counter()
    async with Engine.open(directory, workflows=[handle]) as engine:
        took = perf_counter() - begun
        runs = list(engine.life.core.table.all())
        if runs:
            last = engine.get(handle, runs[-1].workflow_id)
            assert await last.result() == int(runs[-1].workflow_id.rpartition("-")[2])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"s": took, "runs": len(runs), "peak_mib": peak}


async def build_parked(directory: Path) -> dict[str, float]:
    """Leave runs behind that have done three steps and wait."""
    async with Engine.open(directory, workflows=[park]) as engine:
        await asyncio.gather(*(engine.start(park, f"parked-{number}") for number in range(PARKED)))
        await asyncio.wait_for(all_parked.wait(), 60)
    # Closing writes what the last step brought, and with it that the run waits.
    return {}


async def first_commit(directory: Path) -> dict[str, float]:
    """Open, start a run, and take the time until the start is durable."""
    begun = perf_counter()
    async with Engine.open(directory, workflows=[park, empty]) as engine:
        opened = perf_counter() - begun
        await engine.start(empty, f"first-{os.getpid()}")
        committed = perf_counter() - begun
        assert len(engine.life.core.table.open_runs()) >= PARKED
    return {"open_s": opened, "commit_s": committed}


def read_raw(directory: Path) -> tuple[int, float]:
    """Read all segments past the cache, 1 MiB at a time; return bytes and seconds."""
    region = mmap.mmap(-1, MIB)
    size = 0
    begun = perf_counter()
    for path in sorted(directory.glob("segment-*")):
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_DIRECT", 0))
        offset = 0
        while count := os.preadv(fd, (region,), offset):
            offset += count
        os.close(fd)
        size += offset
    return size, perf_counter() - begun


# ------------------------------------------------------------ the rows


def _process(what: str, directory: Path, *more: int) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.reopen", what, str(directory), *map(str, more)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)  # Its errors are ours.
    found: dict[str, float] = json.loads(done.stdout)
    return found


class Tail:
    """A log of one length, and how fast it opens."""

    def __init__(self, directory: Path, frame_bytes: float) -> None:
        self.mib = frame_bytes / MIB
        opened = [_process("open", directory) for _ in range(OPENINGS)]
        self.s = p50([one["s"] for one in opened])
        self.best_s = min(one["s"] for one in opened)
        self.rate = self.mib / self.s
        self.peak_mib = opened[0]["peak_mib"]
        size, raw_s = read_raw(directory)
        self.raw_rate = size / MIB / raw_s


def tail_row(place: Path, *, quick: bool) -> Row:
    """Build half of the log, open it; build the other half, open it again."""
    mib, wave = (TAIL_MIB_QUICK, 100) if quick else (TAIL_MIB, 1000)
    directory, bare = place / "tail", place / "bare"
    fixed_s = min(_process("open", bare)["s"] for _ in range(OPENINGS + 1))
    first = _process("build", directory, mib // 2, wave)
    half = Tail(directory, first["frame_bytes"])
    second = _process("build", directory, mib - mib // 2, wave)
    full = Tail(directory, first["frame_bytes"] + second["frame_bytes"])
    steps = first["steps"] + second["steps"]
    linear = (full.best_s - fixed_s) / (half.best_s - fixed_s) / (full.mib / half.mib)
    return Row(
        "reopen",
        f"reopening {full.mib:,.0f} MiB of log, MiB/s",
        f"{full.rate:,.0f}",
        {
            "mib_a_second": full.rate,
            "mib_a_second_half": half.rate,
            "linearity": linear,
            "open_empty_s": fixed_s,
            "open_s": full.s,
            "open_s_half": half.s,
            "tail_mib": full.mib,
            "steps": steps,
            "raw_read_mib_a_second": full.raw_rate,
            "peak_mib": full.peak_mib,
            "build_s": first["s"] + second["s"],
        },
        [
            Limit("mib_a_second", "", at_least=200, unit="MiB/s"),
            # Time over time by length over length, without what an empty directory takes: 1 is
            # linear, 2 would be quadratic here.
            Limit("linearity", "linear within", at_most=1.25, at_least=0.8),
        ],
        [
            f"{half.mib:,.0f} MiB in {half.s:.2f} s ({half.rate:,.0f} MiB/s), {full.mib:,.0f} MiB "
            f"in {full.s:.2f} s, empty {fixed_s:.3f} s; {full.s / steps * 1e6:.1f} µs a step",
            f"the disk alone, O_DIRECT reads of 1 MiB: {full.raw_rate:,.0f} MiB/s; "
            f"peak memory {full.peak_mib:,.0f} MiB; built in {first['s'] + second['s']:.0f} s",
        ],
    )


def parked_row(place: Path) -> Row:
    """From `Engine.open` to the first durable start, with parked runs to bring back."""
    directory = place / "parked"
    _process("park", directory)
    found = [_process("first-commit", directory) for _ in range(OPENINGS)]
    opened, committed = (p50([one[key] for one in found]) * 1000 for key in ("open_s", "commit_s"))
    return Row(
        "reopen_parked",
        f"open to first commit, {PARKED:,} parked runs",
        f"{committed:.0f} ms",
        {"first_commit_ms": committed, "open_ms": opened},
        [],
        [f"of which opening {opened:.0f} ms; the parked runs replay meanwhile"],
    )


def measure(place: Path, *, quick: bool) -> list[Row]:
    """Both rows."""
    return [tail_row(place, quick=quick), parked_row(place)]


def main() -> None:
    what, directory = sys.argv[1], Path(sys.argv[2])
    match what:
        case "build":
            work = build(directory, int(sys.argv[3]), int(sys.argv[4]))
        case "open":
            work = reopen(directory)
        case "park":
            work = build_parked(directory)
        case _:
            work = first_commit(directory)
    print(json.dumps(asyncio.run(work)))


if __name__ == "__main__":
    main()
