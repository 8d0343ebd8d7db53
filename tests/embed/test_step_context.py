"""Steps: what a function knows of itself, and what it may not do."""

from __future__ import annotations

import contextvars
import threading
from typing import Any

import pytest

import fusee
from fusee import Context, workflow
from fusee.record.kinds import Scheduled
from tests.support.aio import in_loop
from tests.support.worlds import opened


async def double(x: int) -> int:
    return 2 * x


async def tells() -> list[Any]:
    step = fusee.current_step()
    return [step.key, step.attempt, step.cancelled, step.deadline is None]


def tells_in_a_thread() -> list[Any]:
    step = fusee.current_step()
    return [step.key, step.attempt, threading.current_thread() is threading.main_thread()]


@workflow
async def told(ctx: Context) -> list[Any]:
    return [
        await ctx.step(tells),
        await ctx.step(tells_in_a_thread),
        await ctx.options(timeout="1m").step(tells),
    ]


@in_loop
async def test_a_function_knows_its_key_and_attempt() -> None:
    async with opened(told) as world:
        assert await world.engine.run(told, "shop/7") == [
            ["shop/7/1/1", 1, False, True],
            ["shop/7/1/2", 1, False],
            ["shop/7/1/3", 1, False, False],
        ]


def test_current_step_outside_of_a_step_is_refused() -> None:
    with pytest.raises(RuntimeError, match="inside a step function"):
        fusee.current_step()


user = contextvars.ContextVar("user", default="nobody")


async def who() -> str:
    return user.get()


@workflow
async def asks_who(ctx: Context) -> list[str]:
    mine = user.get()
    user.set("workflow")
    return [mine, await ctx.step(who), user.get()]


@in_loop
async def test_a_run_starts_from_an_empty_context_and_steps_get_the_codes_own() -> None:
    user.set("application")
    async with opened(asks_who) as world:
        assert await world.engine.run(asks_who, "w") == ["nobody", "workflow", "workflow"]


escaped: list[Any] = []


@workflow
async def lends_its_context(ctx: Context) -> str:
    async def steps_from_a_step() -> str:
        for call in (
            lambda: ctx.step(double, 1),
            lambda: ctx.sleep(1),
            lambda: ctx.wait_for("x"),
            ctx.now,
            ctx.random,
            ctx.uuid4,
            lambda: ctx.external("other").signal("x", 1),
        ):
            try:
                escaped.append(call())
            except fusee.CodeError as error:
                escaped.append("outside of workflow code" in str(error))
        return "done"

    return await ctx.step(steps_from_a_step)


@in_loop
async def test_ctx_in_a_step_function_is_refused() -> None:
    escaped.clear()
    async with opened(lends_its_context) as world:
        assert await world.engine.run(lends_its_context, "w") == "done"
        assert escaped == [True] * 7
        assert len(world.records(Scheduled)) == 1
