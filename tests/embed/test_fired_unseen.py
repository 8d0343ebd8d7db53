"""What has fired, and was recorded before its run could see it, fires only once."""

from __future__ import annotations

import asyncio
from asyncio import _set_running_loop
from collections.abc import Coroutine
from typing import Any

import pytest

from fusee import Context, Signal, workflow
from fusee.engine.turns import fire_timers, run_turns
from fusee.record.kinds import Completed, Outcome
from tests.support.aio import in_loop
from tests.support.worlds import World, opened

word = Signal[str]("word")


@workflow
async def sleeps(ctx: Context) -> str:
    await ctx.sleep(10)
    return "awake"


@workflow
async def waits(ctx: Context) -> str:
    return await ctx.wait_for(word, timeout=10, default="awake")


@workflow
async def times_out(ctx: Context) -> str:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(10):
            await asyncio.sleep(20)
    return "awake"


def leave_between_firing_and_turn(world: World) -> None:
    """Fire what is due, and take the run out of memory before its turn; then bring it back."""
    run, loop = world.run_of("w"), asyncio.get_running_loop()
    fire_timers(world.core, 64)
    world.core.reload(run)
    while run.program is None or run.program.machine.replaying:
        assert run_turns(world.core, 1) == 1
    _set_running_loop(loop)  # As the pump does: turns leave the loop of their run current.


@pytest.mark.parametrize("code", [sleeps, waits, times_out])
@in_loop
async def test_a_timer_that_is_recorded_and_not_seen_does_not_fire_again(code) -> None:
    async with opened(code) as world:
        await world.engine.start(code, "w")
        await world.settle()
        world.clock.now_us += 10_000_000
        for _ in range(3):
            leave_between_firing_and_turn(world)
        await world.settle()
        ends = [record.position for record in world.records(Completed)]

        assert ends, "the timer has fired"
        assert sorted(set(ends)) == sorted(ends)
        assert await world.finish(world.engine.get(code, "w").result()) == "awake"


async def leave_behind_the_signal(world: World, sending: Coroutine[Any, Any, Any]) -> None:
    """Take the run out of memory between the turn of a signal and that of what fired with it."""
    loop = asyncio.get_running_loop()
    signal = asyncio.create_task(sending)
    await asyncio.sleep(0)  # The signal is there, and the pump has not turned.
    fire_timers(world.core, 64)
    assert run_turns(world.core, 1) == 1
    world.core.reload(world.run_of("w"))
    _set_running_loop(loop)
    await signal


@in_loop
async def test_a_timeout_that_its_signal_overtook_is_not_recorded_beside_it() -> None:
    @workflow
    async def goes_on(ctx: Context) -> str:
        said = await ctx.wait_for(word, timeout=10, default="nothing")
        await ctx.wait_for(word)
        return said

    async with opened(goes_on) as world:
        run = await world.engine.start(goes_on, "w")
        await world.settle()
        world.clock.now_us += 10_000_000
        await leave_behind_the_signal(world, run.signal(word, "in time"))
        await run.signal(word, "the end")
        await world.settle()

        assert await world.finish(run.result()) == "in time"
        assert [record.outcome for record in world.records(Completed)] == [Outcome.SIGNAL] * 2


@in_loop
async def test_a_sleep_that_was_cancelled_when_it_had_fired_has_no_outcome() -> None:
    @workflow
    async def races(ctx: Context) -> str:
        sleeping = asyncio.ensure_future(ctx.sleep(10))
        said = await ctx.wait_for(word)
        sleeping.cancel()
        await ctx.wait_for(word)
        return said

    async with opened(races) as world:
        run = await world.engine.start(races, "w")
        await world.settle()
        world.clock.now_us += 10_000_000
        await leave_behind_the_signal(world, run.signal(word, "first"))
        await run.signal(word, "second")
        await world.settle()

        assert await world.finish(run.result()) == "first"
        assert {record.outcome for record in world.records(Completed)} == {Outcome.SIGNAL}
