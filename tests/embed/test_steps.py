"""Steps: what may be one, when its function runs, what the code gets."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any

import pytest

import fusee
from fusee import Context, EncodeError, PayloadTooLarge, workflow
from fusee.record.kinds import Scheduled
from tests.support.aio import in_loop
from tests.support.steps import Held
from tests.support.worlds import HeldLog, opened


async def double(x: int) -> int:
    return 2 * x


def triple(x: int) -> int:
    return 3 * x


class Times:
    def __init__(self, n: int) -> None:
        self.n = n

    def __call__(self, x: int) -> int:
        return self.n * x

    def by(self, x: int) -> int:
        return self.n * x

    async def slowly(self, x: int) -> int:
        return self.n * x


def later(x: int) -> Awaitable[int]:
    return double(x)


@workflow
async def all_kinds(ctx: Context, x: int) -> list[int]:
    four = Times(4)
    return [
        await ctx.step(double, x),
        await ctx.step(triple, x),
        await ctx.step(functools.partial(double), x),
        await ctx.step(four, x),
        await ctx.step(four.by, x),
        await ctx.step(four.slowly, x),
        await ctx.step(later, x),
        await ctx.step("named", triple, x=x),
    ]


@in_loop
async def test_functions_partials_objects_methods_and_returned_awaitables_are_steps() -> None:
    async with opened(all_kinds) as world:
        assert await world.engine.run(all_kinds, "w", 5) == [10, 15, 10, 20, 20, 20, 10, 15]
        names = [e.name for e in await world.engine.get(all_kinds, "w").journal()]

    assert names == [
        "double", "triple", "double", "Times", "Times.by", "Times.slowly", "later", "named",
    ]  # fmt: skip


def test_a_step_without_function_is_refused_at_the_call() -> None:
    @workflow
    async def wrong(ctx: Context) -> list[str]:
        found: list[str] = []
        for call in (
            lambda: ctx.step("name"),  # type: ignore[call-overload]
            lambda: ctx.step(3),  # type: ignore[call-overload]
            lambda: ctx.step("", double, 1),
            lambda: ctx.step("a\0b", double, 1),
            lambda: ctx.step("n" * 300, double, 1),
            lambda: ctx.step(double),  # type: ignore[call-overload]
            lambda: ctx.step(double, 1, 2),  # type: ignore[call-overload]
            lambda: ctx.step(double, "no number"),  # type: ignore[arg-type]
        ):
            try:
                call()
            except Exception as error:
                found.append(type(error).__name__)
        return found

    @in_loop
    async def scenario() -> None:
        async with opened(wrong) as world:
            assert await world.engine.run(wrong, "w") == [
                "TypeError", "TypeError", "ValueError", "ValueError", "ValueError",
                "TypeError", "TypeError", "EncodeError",
            ]  # fmt: skip
            assert not world.records(Scheduled), "a refused call takes no position"

    scenario()


# ---------------------------------------------------------------- the gate


@workflow
async def pay_once(ctx: Context, pay: str) -> str:
    return await ctx.step(held, pay)


held = Held()


@in_loop
async def test_a_function_is_not_called_before_its_scheduled_record_is_committed() -> None:
    disk = HeldLog()
    async with opened(pay_once, storage=disk) as world:
        start = asyncio.create_task(world.engine.start(pay_once, "w", "gated"))
        await world.settle()
        assert not start.done(), "the ack waits for the start's record"
        assert "gated" not in held.calls, "its scheduled record is on its way only"

        disk.release()
        await held.called("gated")
        run = await start

        held.give("gated", "paid")
        result = asyncio.create_task(run.result())
        await world.settle()
        assert not result.done(), "the result waits for the record of the end"
        disk.release()
        await world.settle()
        assert await result == "paid"


@fusee.step(read_only=True)
async def look(name: str) -> str:
    return await held(name)


@workflow
async def look_then_pay(ctx: Context) -> str:
    a, b = await asyncio.gather(ctx.step(look, "look 1"), ctx.step(look, "look 2"))
    return await ctx.step(held, f"pay {a}{b}")


@in_loop
async def test_read_only_steps_run_at_once_and_the_next_effectful_one_waits_for_them() -> None:
    disk = HeldLog()
    async with opened(look_then_pay, storage=disk) as world:
        start = asyncio.create_task(world.engine.start(look_then_pay, "w"))
        await held.called("look 1")
        await held.called("look 2")
        assert not start.done()
        held.give("look 1", "a")
        held.give("look 2", "b")
        await world.settle()
        assert "pay ab" not in held.calls

        disk.release()  # the start
        await world.settle()
        assert "pay ab" not in held.calls, "two looks and the intent to pay are one flush"
        disk.release()
        await world.settle()
        await held.called("pay ab")
        held.give("pay ab", "paid")
        await world.settle()
        disk.release()
        await world.settle()
        assert await (await start).result() == "paid"


# ---------------------------------------------------------------- values


@dataclass
class Basket:
    items: list[str] = field(default_factory=list)


seen: list[Any] = []


async def take(basket: Basket, plain: Any) -> Basket:
    seen.append((list(basket.items), list(plain)))
    basket.items.append("added by the step")
    return basket


@workflow
async def mutates(ctx: Context) -> list[Any]:
    basket, plain = Basket(["tea"]), ["x"]
    op = ctx.step(take, basket, plain)
    basket.items.append("after the call")
    plain.append("after the call")
    returned = await op
    returned.items.append("by the code")
    return [basket.items, returned.items, type(returned).__name__]


@in_loop
async def test_what_happens_to_arguments_after_the_call_is_not_seen_by_the_function() -> None:
    seen.clear()
    async with opened(mutates) as world:
        result = await world.engine.run(mutates, "w")
        journal = await world.engine.get(mutates, "w").journal()

    assert seen == [(["tea"], ["x"])]
    assert result == [
        ["tea", "after the call"], ["tea", "added by the step", "by the code"], "Basket",
    ]  # fmt: skip
    assert "after the call" not in journal[0].input
    assert journal[0].outcome == '{"items":["tea","added by the step"]}'


calls: list[str] = []


async def returns(value: str) -> Any:
    calls.append(value)
    match value:
        case "generator":
            return (i for i in range(3))
        case "nan":
            return float("nan")
        case "large":
            return "x" * (4 * 1024 * 1024 + 1)
        case _:
            return lambda: None


@workflow
async def bad_results(ctx: Context, value: str) -> str:
    retrying = ctx.options(retry=fusee.Retry(5, initial=0))
    try:
        await retrying.step(returns, value)
    except (EncodeError, PayloadTooLarge) as error:
        await ctx.sleep("1s")
        return f"{type(error).__name__}: {error} / {' '.join(error.__notes__)}"
    return "no error"


@pytest.mark.parametrize("value", ["generator", "nan", "large", "function"])
def test_a_result_that_cannot_be_recorded_does_not_run_the_function_again(value: str) -> None:
    @in_loop
    async def scenario() -> None:
        calls.clear()
        async with opened(bad_results) as world:
            live = await world.finish(world.engine.run(bad_results, "w", value))
        async with opened(bad_results, log=world.log[:-1]) as again:
            replayed = await again.finish(again.engine.get(bad_results, "w").result())
        assert calls == [value]
        assert "its effects happened" in live
        assert "result of step 'returns'" in live
        assert replayed == live

    scenario()


# ---------------------------------------------------------------- current_step, contexts


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
