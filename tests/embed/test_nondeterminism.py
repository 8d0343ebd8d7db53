"""Code that contradicts its journal: the run is held with a text that says what, where and why."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import pytest

from fusee import Context, Signal, Workflow, workflow
from fusee.engine.listing import Wanted
from tests.support.aio import in_loop
from tests.support.worlds import Log, opened

review: Signal[bool] = Signal[bool]("review")
ran: list[str] = []

Body = Callable[[Context], Coroutine[Any, Any, Any]]


async def price() -> str:
    ran.append("price")
    return "9.90"


async def charge() -> str:
    ran.append("charge")
    return "ch_1"


async def refund() -> None:
    ran.append("refund")


def checkout(body: Body) -> Workflow[[], Any]:
    """Register a body as the workflow of this test."""

    async def run(ctx: Context) -> Any:
        return await body(ctx)

    return workflow(name="checkout")(run)


async def original(ctx: Context) -> str:
    await ctx.step(price)
    await ctx.step(charge)
    await ctx.sleep("10m", name="cool-off")
    await ctx.step(refund)
    await ctx.wait_for(review)
    return "done"


async def recorded(body: Body = original) -> Log:
    """Return the log of a run that waits for its review, or as far as it gets."""
    async with opened(checkout(body)) as world:
        await world.engine.start(checkout(body), "order-123")
        await world.settle()
        world.skip()
        await world.settle()
        return list(world.log)


async def calls_another_step(ctx: Context) -> None:
    await ctx.step(price)
    await ctx.step(refund)


async def calls_another_kind(ctx: Context) -> None:
    await ctx.step(price)
    await ctx.step(charge)
    await ctx.step(refund)


async def ends_early(ctx: Context) -> str:
    await ctx.step(price)
    await ctx.step(charge)
    return "done"


async def raises(ctx: Context) -> None:
    await ctx.step(price)
    await ctx.step(charge)
    raise KeyError("total")


async def waits_for_something_else(ctx: Context) -> None:
    await ctx.step(price)
    await ctx.step(charge)
    await asyncio.Event().wait()


async def calls_too_much_at_first(ctx: Context) -> None:
    a, b = ctx.step(price), ctx.step(charge)
    ctx.sleep("1s", name="too much")
    await a
    await b


async def draws(ctx: Context) -> None:
    ctx.now()


SITUATIONS = [
    (calls_another_step, "step 'charge'", "called step 'refund'"),
    (calls_another_kind, "sleep 'cool-off'", "called step 'refund'"),
    (ends_early, "sleep 'cool-off'", "returned"),
    (raises, "sleep 'cool-off'", "raised KeyError('total')"),
    (waits_for_something_else, "sleep 'cool-off'", "is waiting"),
    (calls_too_much_at_first, "sleep 'cool-off'", "called sleep 'too much'"),
    (draws, "step 'price'", "called now()"),
]


@pytest.mark.parametrize(
    ("body", "recorded_as", "did"), SITUATIONS, ids=lambda x: getattr(x, "__name__", "")
)
def test_each_difference_is_told_in_its_own_words(body: Body, recorded_as: str, did: str) -> None:
    first_line = f"the journal recorded {recorded_as} here but the code {did}"

    @in_loop
    async def scenario() -> None:
        log = await recorded()
        ran.clear()
        async with opened(checkout(body), log=log) as world:
            await world.settle()
            info = await world.engine.get("checkout", "order-123").describe()
            assert (info.status, info.held) == ("running", "nondeterminism")
            lines = str(info.held_text).splitlines()
            assert lines[0] == first_line
            assert lines[1].startswith("  run order-123/1 (checkout@1), position ")
            assert "test_nondeterminism.py:" in lines[1]
            assert lines[2].startswith("  recorded: ")
            assert "python 3." in lines[2]
            assert lines[3].startswith("  called:   ")
            assert lines[4] == "  held: the run waits for code that matches; nothing was run"
            assert ran == []
            assert world.log == log

    scenario()


@in_loop
async def test_code_that_waits_for_a_signal_instead_is_told_so() -> None:
    async def body(ctx: Context) -> None:
        await ctx.step(price)
        await ctx.wait_for(review)

    async def longer(ctx: Context) -> None:
        await ctx.step(price)
        wait = ctx.wait_for(review)
        await ctx.step(refund)
        await wait

    log = await recorded(longer)
    async with opened(checkout(body), log=log) as world:
        await world.settle()
        held = world.held("order-123")
        assert held is not None
        assert held.text.splitlines()[0] == (
            "the journal recorded step 'refund' here but the code is waiting for signal 'review'"
        )


@in_loop
async def test_an_operation_that_moved_is_pointed_at() -> None:
    log = await recorded()
    async with opened(checkout(calls_another_step), log=log) as world:
        await world.settle()
        held = world.held("order-123")
        assert held is not None
        assert "hint: step 'refund' is recorded later, at position 4" in held.text


@in_loop
async def test_two_names_swapped_within_one_turn_suggest_a_set() -> None:
    def order(*names: str) -> Body:
        async def body(ctx: Context) -> None:
            await asyncio.gather(*(ctx.step(name, price) for name in names))
            await ctx.wait_for(review)

        return body

    log = await recorded(order("a", "b"))
    async with opened(checkout(order("b", "a")), log=log) as world:
        await world.settle()
        held = world.held("order-123")
        assert held is not None
        assert "two names swapped within one turn: is a set of strings iterated?" in held.text


@in_loop
async def test_code_that_cancels_what_the_recorded_code_was_handed_is_held() -> None:
    async def cancels(ctx: Context) -> None:
        sleep = ctx.sleep("10m", name="cool-off")
        sleep.cancel()
        await ctx.wait_for(review)

    async def waits(ctx: Context) -> None:
        sleep = ctx.sleep("10m", name="cool-off")
        wait = ctx.wait_for(review)
        await sleep
        await wait

    log = await recorded(waits)
    async with opened(checkout(cancels), log=log) as world:
        await world.settle()
        held = world.held("order-123")
        assert held is not None
        assert held.text.splitlines()[0] == (
            "the journal recorded the outcome of sleep 'cool-off' here but the code cancelled it"
        )


@in_loop
async def test_a_held_run_takes_no_turn_keeps_its_signals_and_goes_on_with_matching_code() -> None:
    log = await recorded()
    async with opened(checkout(calls_another_step), log=log) as world:
        await world.settle()
        iterations = world.engine.life.pump.iterations
        for _ in range(20):
            await world.settle()
        assert world.engine.life.pump.iterations == iterations, "no CPU while held"
        assert not world.core.ready
        await world.engine.get("checkout", "order-123").signal(review, True)
        await world.settle()
        assert world.held("order-123") is not None
        log = list(world.log)
    ran.clear()
    async with opened(checkout(original), log=log) as world:
        assert await world.engine.get("checkout", "order-123").result() == "done"
        assert ran == [], "every step was recorded before"


@in_loop
async def test_a_mismatch_is_not_raised_into_code_that_catches_everything() -> None:
    async def swallows(ctx: Context) -> str:
        for _ in range(3):
            try:
                await ctx.step(refund)
            except BaseException:
                continue
        return "swallowed"

    log = await recorded()
    async with opened(checkout(swallows), log=log) as world:
        await world.settle()
        held = world.held("order-123")
        assert held is not None
        assert held.reason == "nondeterminism"
        assert world.log == log


@in_loop
async def test_code_that_calls_again_for_ever_after_a_mismatch_does_not_hang_the_engine() -> None:
    async def insists(ctx: Context) -> None:
        while True:
            try:
                await ctx.step(refund)
            except BaseException:
                continue

    log = await recorded()
    async with opened(checkout(insists), log=log) as world:
        await world.settle()
        assert world.held("order-123") is not None


@dataclass
class Quote:
    total: str
    currency: str


@in_loop
async def test_a_recorded_result_that_no_longer_fits_holds_the_run() -> None:
    async def old_quote() -> dict[str, str]:
        return {"currency": "EUR"}

    async def new_quote() -> Quote:
        raise AssertionError("its result is recorded")

    async def old(ctx: Context) -> str:
        await ctx.step("quote", old_quote)
        await ctx.wait_for(review)
        return "done"

    async def new(ctx: Context) -> str:
        await ctx.step("quote", new_quote)
        await ctx.wait_for(review)
        return "done"

    log = await recorded(old)
    async with opened(checkout(new), log=log) as world:
        await world.settle()
        info = await world.engine.get("checkout", "order-123").describe()
        assert info.held == "decode"
        text = str(info.held_text)
        assert text.startswith("the journal recorded a result of step 'quote' that no longer fits")
        assert "total" in text
        await world.engine.get("checkout", "order-123").signal(review, True)
        log = list(world.log)
    async with opened(checkout(old), log=log) as world:
        assert await world.engine.get("checkout", "order-123").result() == "done"


@in_loop
async def test_an_input_that_no_longer_fits_holds_the_run() -> None:
    @workflow(name="sized")
    async def old(ctx: Context, size: str) -> str:
        await ctx.wait_for(review)
        return size

    @workflow(name="sized")
    async def new(ctx: Context, size: int) -> int:
        return size

    async with opened(old) as world:
        await world.engine.start(old, "w", "large")
        log = list(world.log)
    async with opened(new, log=log) as world:
        await world.settle()
        held = world.held("w")
        assert held is not None
        assert (held.reason, "size" in held.text) == ("decode", True)
    async with opened(old, log=log) as world:
        await world.engine.get(old, "w").signal(review, True)
        assert await world.engine.get(old, "w").result() == "large"


@in_loop
async def test_one_held_run_keeps_no_other_from_moving() -> None:
    log = await recorded()
    both = (checkout(ends_early), free)
    async with opened(*both, log=log) as world:
        assert await world.engine.run(free, "other") == "9.90"
        rows = await world.engine.life.client.runs(Wanted())
        assert {r.id: r.held for r in rows} == {"order-123": "nondeterminism", "other": None}


@workflow
async def free(ctx: Context) -> str:
    return await ctx.step(price)


@in_loop
async def test_a_result_that_arrives_while_its_run_is_held_is_kept() -> None:
    """The function of a run that became held ran to its end: it must not run again."""
    started = asyncio.Event()
    finish = asyncio.Event()
    calls: list[str] = []

    async def slow() -> str:
        calls.append("slow")
        started.set()
        await finish.wait()
        return "slow result"

    async def body(ctx: Context) -> str:
        op = ctx.step(slow)
        await ctx.wait_for(review)
        if broken:
            raise NameError("bug")
        return await op

    broken = True
    held_on = workflow(name="checkout", hold_on=(NameError,))(body)
    async with opened(held_on) as world:
        run = await world.engine.start(held_on, "w")
        await started.wait()
        await run.signal(review, True)
        await world.settle()
        assert world.held("w") is not None
        finish.set()
        await world.settle()
        log = list(world.log)
    broken = False
    async with opened(held_on, log=log) as world:
        assert await world.engine.get(held_on, "w").result() == "slow result"
    assert calls == ["slow"]
