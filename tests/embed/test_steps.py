"""Steps: what may be one, and when its function runs."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable

import fusee
from fusee import Context, workflow
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


def gives_up() -> int:
    raise GeneratorExit


async def gives_up_later() -> int:
    await asyncio.sleep(0)
    raise GeneratorExit


@workflow
async def asks_who_gives_up(ctx: Context) -> list[str]:
    seen: list[str] = []
    for function in (gives_up, gives_up_later):
        try:
            await ctx.step(function)
        except fusee.StepFailed as error:
            seen.append(error.type)
    return seen


@in_loop
async def test_a_function_that_raises_GeneratorExit_has_failed() -> None:
    async with opened(asks_who_gives_up) as world:
        run = await world.engine.start(asks_who_gives_up, "who")
        assert await run.result(timeout=20) == ["builtins:GeneratorExit"] * 2
