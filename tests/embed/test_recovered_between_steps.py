"""Runs that a crash met where nothing of them was under way: they go on by themselves."""

from __future__ import annotations

import asyncio

import pytest

import fusee
from fusee import Context, Retry, workflow
from fusee.record.kinds import AttemptFailed, Completed
from tests.support.aio import in_loop
from tests.support.prefixes import Ledger, crash_at_every_point
from tests.support.steps import Held
from tests.support.worlds import Log, opened

held = Held()
ledger = Ledger()


async def work(name: str) -> str:
    ledger.note()
    return name


@workflow
async def three(ctx: Context) -> list[str]:
    first = await ctx.step(work, "1")
    second = await ctx.step(held, "2")
    return [first, second, await ctx.step(work, "3")]


@workflow
async def one(ctx: Context) -> str:
    return await ctx.step(work, "other")


async def cut_between_steps() -> Log:
    """Return a log that holds the result of step 2, unseen by the code, and no call of step 3."""
    async with opened(three, drain=5.0) as world:
        await world.engine.start(three, "w")
        await held.called("2")
        closing = asyncio.ensure_future(world.engine.close())
        await asyncio.sleep(0)
        held.give("2", "2")
        await closing
        return world.log


@in_loop
async def test_a_run_cut_between_a_result_and_the_next_call_goes_on_without_anybodys_help() -> None:
    log = await cut_between_steps()
    ledger.keys.clear()

    async with opened(three, log=log, async_steps=1) as world:
        last = world.records()[-1]
        assert type(last) is Completed
        assert (last.position, last.delivered) == (2, False)
        await world.settle()

        assert ledger.keys == ["w/1/3"]
        assert await world.engine.get(three, "w").result(timeout=30) == ["1", "2", "3"]
        assert not held.running, "step 2 does not run again"


@in_loop
async def test_a_recovered_run_that_executes_nothing_takes_no_slot_from_others() -> None:
    @workflow
    async def parked(ctx: Context) -> None:
        await ctx.sleep("1h")
        await ctx.step(work, "late")

    async with opened(parked) as world:
        for n in range(5):
            await world.engine.start(parked, f"parked-{n}")
        await world.settle()
        log = world.log

    async with opened(parked, one, log=log, async_steps=1) as world:
        assert await world.engine.run(one, "other") == "other"
        assert world.engine.life.runner._async_running == 0


# ---------------------------------------------------------------- timeouts over crashes


async def hangs_twice() -> str:
    ledger.note()
    attempt = fusee.current_step().attempt
    if attempt < 3:
        await asyncio.Event().wait()
    return f"attempt {attempt}"


@workflow
async def times_out_twice(ctx: Context) -> str:
    retry = Retry(3, initial=0, jitter=0)
    return await ctx.options(retry=retry, timeout="10ms").step(hangs_twice)


@in_loop
async def test_the_attempt_of_a_timeout_is_counted_over_a_crash_at_every_point() -> None:
    async def drive(engine: fusee.Engine) -> str:
        run = await engine.options(request_id="r").start(times_out_twice, "w")
        return await run.result()

    async with opened(times_out_twice) as world:
        assert await world.finish(drive(world.engine)) == "attempt 3"
        log = list(world.log)
    for count in range(1, len(log) + 1):
        async with opened(times_out_twice, log=log[:count]) as world:
            assert await world.finish(drive(world.engine)) == "attempt 3"
            failed = [r.attempt for r in world.records(AttemptFailed)]
            assert failed == [1, 2], f"after {count} tickets"


@in_loop
async def test_an_attempt_that_ended_leaves_no_timer_that_could_meet_the_next_one() -> None:
    @workflow
    async def fails_then_hangs(ctx: Context) -> str:
        retry = Retry(2, initial="1s", jitter=0)
        return await ctx.options(retry=retry, timeout="1h").step(held, "x")

    loop = asyncio.get_running_loop()

    def timeouts() -> int:
        live = [t for t in loop._scheduled if not t.cancelled()]  # type: ignore[attr-defined]
        return sum("_timed_out" in repr(timer) for timer in live)

    async with opened(fails_then_hangs) as world:
        run = await world.engine.start(fails_then_hangs, "w")
        await held.called("x")
        assert timeouts() == 1
        held.fail("x", ValueError())
        await world.settle()
        assert timeouts() == 0

        world.skip()
        await held.called("x")
        assert timeouts() == 1, "the second attempt has one of its own"
        held.give("x", "done")
        assert await run.result() == "done"
        assert timeouts() == 0


# ---------------------------------------------------------------- cancelled sleeps


@workflow
async def gives_up_sleeps(ctx: Context, count: int) -> int:
    tasks = [asyncio.create_task(asyncio.sleep(3600)) for _ in range(count)]
    ops = [ctx.sleep("1h") for _ in range(count)]
    await ctx.step(work, "begin")
    for each in (*tasks, *ops):
        each.cancel()
    await ctx.step(work, "middle")
    await ctx.step(work, "end")
    return count


@in_loop
async def test_cancelled_sleeps_have_no_timer_after_a_crash_at_any_point_either() -> None:
    async def drive(engine: fusee.Engine) -> int:
        result = await (
            await engine.options(request_id="r").start(gives_up_sleeps, "w", 20)
        ).result()
        core = engine.life.core
        assert (len(core.timers.live), core.timers.next_due_us()) == (0, None)
        return result

    story = await crash_at_every_point([gives_up_sleeps], drive, ledger)

    assert story.result == 20


@pytest.fixture(autouse=True)
def _fresh() -> None:
    ledger.keys.clear()
