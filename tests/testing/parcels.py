"""Workflows whose steps have no stubs, for tests of the simulator. Copied for cold processes."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass

import fusee
from fusee import Context, RetriesExhausted, Retry, workflow


@dataclass(frozen=True)
class Parcel:
    grams: int


class Lost(Exception):
    """The parcel is."""


async def weigh(parcel: Parcel) -> Parcel:
    return Parcel(parcel.grams + 1)


def label(parcel: Parcel) -> Parcel:
    return Parcel(parcel.grams * 2)


def hand_over(parcel: Parcel) -> Awaitable[Parcel]:
    """A function that is not async, and returns what is to be awaited."""
    return weigh(parcel)


@fusee.step(read_only=True)
async def look(parcel: Parcel) -> Parcel:
    return parcel


@fusee.step(retry=Retry(2, initial="1s"))
async def lose(parcel: Parcel) -> None:
    raise Lost(parcel.grams)


@workflow
async def send(ctx: Context, grams: int) -> int:
    parcel = Parcel(grams)
    for function in (weigh, label, look):
        parcel = await ctx.step(function, parcel)
    parcel = await ctx.step(hand_over, parcel)
    return parcel.grams


@workflow
async def mislay(ctx: Context, grams: int) -> str:
    try:
        await ctx.step(lose, Parcel(grams))
    except RetriesExhausted:
        return "lost"
    return "kept"


replays = [0]


@workflow
async def counts_replays(ctx: Context) -> int:
    """Gives a step what only a process knows: how often the code has begun."""
    replays[0] += 1
    await ctx.step(weigh, Parcel(replays[0]))
    return 0
