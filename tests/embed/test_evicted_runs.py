"""A run that was taken out of memory behaves as one that never was, record by record."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fusee import Context, Signal, workflow
from fusee.engine.run import Run
from fusee.record.kinds import AnyRecord
from tests.support.aio import in_loop
from tests.support.steps import Held
from tests.support.worlds import World, opened

word: Signal[str] = Signal[str]("word")
note: Signal[int] = Signal[int]("note")
held = Held()


async def shout(text: str) -> str:
    return text.upper()


@workflow
async def busy(ctx: Context) -> list[Any]:
    seen: list[Any] = []

    async def reads() -> None:
        for _ in range(3):
            seen.append(await ctx.step(shout, await ctx.wait_for(word)))

    async def sleeps() -> None:
        for minutes in (1, 1, 5):
            await ctx.sleep(f"{minutes}m")
            seen.append(minutes)

    async def gives_up() -> None:
        seen.append(await ctx.wait_for(note, timeout="90s", default=-1))
        seen.append(await ctx.wait_for(note, timeout="1h"))

    await asyncio.gather(reads(), sleeps(), gives_up())
    seen.append(await ctx.step(held, "last"))
    return seen


EVENTS: list[Any] = [
    ("word", "a"), 60.0, ("word", "b"), 30.0, ("note", 7), ("word", "c"), 30.0, 300.0, "last",
]  # fmt: skip


async def happens(world: World, event: Any) -> None:
    run = world.engine.get(busy, "w")
    match event:
        case ("word", str(value)):
            await run.signal(word, value, signal_id=value)
        case ("note", int(value)):
            await run.signal(note, value, signal_id=f"{value}")
        case float(seconds):
            world.advance(seconds)
            await world.settle()
            world.advance(0)  # A clock that stands still must be looked at again after the replay.
        case _:
            await held.called(event)
            held.give(event, "end")
    await world.settle()


async def lives(*evicted_before: int) -> tuple[list[AnyRecord], Any]:
    """Return the records and the result, the run being evicted before these events."""
    global held
    held = Held()
    async with opened(busy) as world:
        await world.engine.options(request_id="r").start(busy, "w")
        await world.settle()
        for number, event in enumerate(EVENTS):
            run = world.core.table.latest("w")
            if number in evicted_before and isinstance(run, Run):
                world.core.reload(run)  # It comes back by replay, and the event meets that.
            await happens(world, event)
        return world.records(), await world.engine.get(busy, "w").result()


@pytest.mark.parametrize(
    "evicted_before",
    [*((n,) for n in range(len(EVENTS) - 1)), tuple(range(len(EVENTS) - 1))],
    ids=str,
)
def test_signals_and_timers_that_find_no_code_in_memory_come_at_their_places(
    evicted_before: tuple[int, ...],
) -> None:
    @in_loop
    async def claim() -> None:
        expected, result = await lives()
        assert result[-1] == "end"

        records, again = await lives(*evicted_before)

        assert again == result
        assert records == expected

    claim()
