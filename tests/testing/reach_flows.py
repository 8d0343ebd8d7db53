"""Workflows that find their steps in all the ways in which code finds functions."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import fusee
from fusee import Context, workflow
from tests.testing import parcels


async def plain(x: int) -> int:
    return x


async def elsewhere(x: int) -> int:
    return x


@fusee.step(name="renamed")
async def by_another_name(x: int) -> int:
    return x


async def in_a_table(x: int) -> int:
    return x


async def in_a_partial(x: int, y: int) -> int:
    return x + y


async def for_getattr(x: int) -> int:
    return x


def logged(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    async def call(*args: Any) -> Any:
        return await fn(*args)

    return call


@logged
async def wrapped(x: int) -> int:
    return x


class Till:
    """Has a step for a method."""

    async def method(self, x: int) -> int:
        return x


@dataclass
class Shop:
    """Has it in something that it has."""

    tills: list[Till] = field(default_factory=lambda: [Till()])
    table: dict[str, Callable[[int], Awaitable[int]]] = field(
        default_factory=lambda: {"a": in_a_table}
    )


shop = Shop()
adds = functools.partial(in_a_partial, 1)


async def helper(ctx: Context, x: int) -> int:
    return await ctx.step(by_another_name, x)


@workflow
async def names(ctx: Context, x: int) -> int:
    return await ctx.step(plain, x) + await helper(ctx, x)


@workflow
async def holds(ctx: Context, x: int) -> int:
    first = await ctx.step(shop.table["a"], x)
    return first + await ctx.step(shop.tills[0].method, x) + await ctx.step(adds, x)


@workflow
async def of_a_module(ctx: Context, x: int) -> Any:
    return await ctx.step(parcels.weigh, parcels.Parcel(x))


@workflow
async def imports(ctx: Context, x: int) -> Any:
    from tests.testing.parcels import label as sticks

    return await ctx.step(sticks, x)


@workflow
async def decorated(ctx: Context, x: int) -> Any:
    return await ctx.step(wrapped, x)


@workflow
async def dynamic(ctx: Context, which: str) -> Any:
    return await ctx.step(getattr(parcels, which), 1)
