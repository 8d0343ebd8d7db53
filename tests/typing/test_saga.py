"""The saga of the documentation: compensations in reverse, each a durable step."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from fusee import Context, Engine, NonRetryable, Retry, WorkflowFailed, workflow

done: list[str] = []


class SoldOut(NonRetryable): ...


async def book_flight(trip: str) -> str:
    done.append("book flight")
    return "f1"


async def cancel_flight(ref: str) -> None:
    done.append(f"cancel {ref}")


async def book_hotel(trip: str) -> str:
    if trip == "sold out":
        raise SoldOut(trip)
    return "h1"


async def cancel_hotel(ref: str) -> None:
    done.append(f"cancel {ref}")


async def charge(trip: str, refs: list[str]) -> str:
    if trip == "declined":
        raise ValueError(refs)
    return "c"


async def undo_step(ctx: Context, fn: Callable[[str], Awaitable[None]], ref: str) -> None:
    await ctx.options(retry=Retry(None, max="5m")).step(fn, ref)  # a compensation never gives up


@workflow
async def trip(ctx: Context, name: str) -> list[str]:
    async with AsyncExitStack() as undo:  # compensations run in reverse
        flight = await ctx.step(book_flight, name)
        undo.push_async_callback(undo_step, ctx, cancel_flight, flight)
        hotel = await ctx.step(book_hotel, name)
        undo.push_async_callback(undo_step, ctx, cancel_hotel, hotel)
        await ctx.step(charge, name, [flight, hotel])
        undo.pop_all()  # committed: nothing to undo
        return [flight, hotel]
    raise AssertionError("the stack swallows nothing")


async def go(name: str) -> list[str]:
    async with Engine.open(":memory:", workflows=[trip]) as engine:
        return await engine.run(trip, "trip-1", name)


def test_a_trip_that_works_undoes_nothing() -> None:
    done.clear()
    assert asyncio.run(go("rome")) == ["f1", "h1"]
    assert done == ["book flight"]


@pytest.mark.parametrize(
    ("name", "error", "undone"),
    [
        ("sold out", SoldOut, ["book flight", "cancel f1"]),
        ("declined", ValueError, ["book flight", "cancel h1", "cancel f1"]),
    ],
)
def test_a_trip_that_fails_undoes_what_was_done_in_reverse(
    name: str, error: type[Exception], undone: list[str]
) -> None:
    done.clear()
    with pytest.raises(WorkflowFailed) as failed:
        asyncio.run(go(name))
    assert isinstance(failed.value.__cause__, error)
    assert done == undone
