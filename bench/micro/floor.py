"""The floor of the chain row: what any asyncio program pays that writes once a loop iteration.

    PYTHONPATH=. python bench/micro/floor.py DIR

A chain of dependent steps turns the application's loop once a step and writes in that turn.
So it can never be cheaper than a callback that does nothing but write and queue itself again;
and each microsecond of work between two writes costs more than one, since the core slept
during the write and comes back with cold caches. Four programs, in turn, in short blocks:

    raw         writes in a plain loop                          the denominator of the row
    bare        one callback of asyncio a write
    encoded     and the bytes of one record: encode, hash, a tag for each unit, one coroutine
    warm+N      bare, and N us (measured warm) of plain Python that touches little memory
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from struct import Struct
from time import perf_counter_ns

import msgspec

from bench.raw import RawWrites
from bench.stats import gaps, p50

WRITES = 100
ROUNDS = 30
UNITS = 8
_ENCODER = msgspec.msgpack.Encoder()
_TAG = Struct("<QQ")

Work = Callable[[], None]


def nothing() -> None:
    """The callback only writes."""


def encoded() -> None:
    """What the bytes of one step cost if nobody decided, ordered, matched or delivered it."""
    record = _ENCODER.encode((7, 1, "charge", 1_750_000_000_000_000, b"{}", 0, 0))
    digest = blake2b(record, digest_size=16).digest()
    buffer = bytearray(512 * UNITS)
    for unit in range(UNITS):
        _TAG.pack_into(buffer, 512 * unit, unit, 7)
    buffer[16 : 16 + len(record)] = record
    coroutine = _step()
    try:
        coroutine.send(None)
    except StopIteration:
        digest += b"."


async def _step() -> None:
    """A step that does nothing."""


def warm(turns: int) -> Work:
    """Return plain work of so many turns."""

    def work() -> None:
        total = 0
        for number in range(turns):
            total += number
            held = {number: total}
            del held

    return work


def warm_us(work: Work) -> float:
    """Measure work where nothing else runs in between."""
    for _ in range(200):
        work()
    began_ns = perf_counter_ns()
    for _ in range(2000):
        work()
    return (perf_counter_ns() - began_ns) / 2000 / 1000


async def looped(raw: RawWrites, work: Work) -> list[int]:
    """Write once a loop iteration, do the work in between; return the times between writes."""
    loop = asyncio.get_running_loop()
    done = loop.create_future()
    stamps: list[int] = []

    def turn() -> None:
        work()
        stamps.append(perf_counter_ns())
        raw.write(1)
        if len(stamps) > WRITES:
            done.set_result(None)
        else:
            loop.call_soon(turn)

    turn()
    await done
    return gaps(stamps)


async def main(place: Path) -> None:
    programs: dict[str, Work] = {"bare": nothing, "encoded": encoded}
    for turns in (25, 50, 100, 200):
        work = warm(turns)
        programs[f"warm+{warm_us(work):.0f}"] = work
    ratios: dict[str, list[float]] = {name: [] for name in programs}
    raws: list[float] = []
    with RawWrites(place) as raw:
        for _ in range(ROUNDS):
            raw_us = p50(raw.write(WRITES)) / 1000
            raws.append(raw_us)
            for name, work in programs.items():
                ratios[name].append(p50(await looped(raw, work)) / 1000 / raw_us)
    print(f"raw        {p50(raws):6.1f} us")
    for name, seen in ratios.items():
        print(f"{name:<10} {p50(seen):6.2f} of it")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as where:
        asyncio.run(main(Path(where)))
