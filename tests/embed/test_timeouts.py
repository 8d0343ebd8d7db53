"""Timeouts of steps: from the function's start, one attempt each, late results dropped."""

from __future__ import annotations

import asyncio
import threading

import pytest

import fusee
from fusee import Context, Retry, StepTimeout, workflow
from fusee.record.kinds import AttemptFailed, Completed
from tests.support.aio import in_loop, spin
from tests.support.steps import Held
from tests.support.worlds import opened

calls: list[tuple[str, int]] = []
held = Held()


async def hangs(until_attempt: int) -> str:
    attempt = fusee.current_step().attempt
    calls.append(("hangs", attempt))
    if attempt < until_attempt:
        await asyncio.Event().wait()
    return f"attempt {attempt}"


@workflow
async def times_out(ctx: Context, until_attempt: int) -> str:
    retry = Retry(3, initial=0, jitter=0)
    return await ctx.options(retry=retry, timeout="20ms").step(hangs, until_attempt)


@in_loop
async def test_attempts_that_hang_time_out_and_the_next_one_runs() -> None:
    calls.clear()
    async with opened(times_out) as world:
        assert await world.engine.run(times_out, "w", 3) == "attempt 3"
        errors = (await world.engine.get(times_out, "w").journal())[0].errors
        assert errors == ["fusee.base.errors:StepTimeout: step 'hangs' ran longer than its "
                          "timeout of 0.02 s"] * 2  # fmt: skip
    assert calls == [("hangs", 1), ("hangs", 2), ("hangs", 3)]


@in_loop
async def test_a_timeout_without_a_retry_is_a_step_timeout_and_a_timeout_error() -> None:
    @workflow
    async def impatient(ctx: Context) -> str:
        try:
            return await ctx.options(timeout="5ms").step(hangs, 99)
        except TimeoutError as error:
            return type(error).__name__

    async with opened(impatient) as world:
        assert await world.engine.run(impatient, "w") == StepTimeout.__name__


class Stubborn:
    """Ignores its cancellation and brings a result long after its timeout."""

    def __init__(self) -> None:
        self.release: dict[int, asyncio.Event] = {}
        self.ended: list[int] = []

    async def __call__(self) -> str:
        attempt = fusee.current_step().attempt
        event = self.release.setdefault(attempt, asyncio.Event())
        while not event.is_set():
            try:
                await event.wait()
            except asyncio.CancelledError:
                continue
        self.ended.append(attempt)
        return f"result of attempt {attempt}"


@in_loop
async def test_the_late_result_of_an_attempt_that_timed_out_is_dropped() -> None:
    stubborn = Stubborn()

    @workflow
    async def waits(ctx: Context) -> str:
        retry = Retry(3, initial=0, jitter=0, on=(StepTimeout,))
        return await ctx.options(retry=retry, timeout="20ms").step(stubborn)

    async with opened(waits) as world:
        run = await world.engine.start(waits, "w")
        while 2 not in stubborn.release:
            await asyncio.sleep(0.001)
        stubborn.release[1].set()
        await world.settle()
        assert stubborn.ended == [1]
        assert not world.records(Completed)
        stubborn.release[2].set()
        assert await run.result() == "result of attempt 2"


@in_loop
async def test_a_sync_function_that_timed_out_keeps_its_thread_until_it_returns() -> None:
    free = threading.Event()

    def blocks() -> str:
        step = fusee.current_step()
        if step.attempt == 1:
            free.wait(20)
            assert step.cancelled
            with pytest.raises(fusee.StepCancelled):
                step.raise_if_cancelled()
        return f"attempt {step.attempt}"

    @workflow
    async def waits(ctx: Context) -> str:
        retry = Retry(2, initial=0, jitter=0)
        return await ctx.options(retry=retry, timeout="20ms").step(blocks)

    async with opened(waits, sync_threads=1) as world:
        run = await world.engine.start(waits, "w")
        while not world.records(AttemptFailed):
            await asyncio.sleep(0.001)
        await spin(50)
        assert not world.records(Completed), "the one thread is not back yet"
        free.set()
        assert await run.result() == "attempt 2"


@in_loop
async def test_the_timeout_counts_from_the_functions_start_not_from_its_queue() -> None:
    @workflow
    async def two(ctx: Context) -> list[str]:
        first = ctx.step(held, "no limit")
        second = ctx.options(timeout="5ms").step(hangs, 1)
        return [await first, await second]

    async with opened(two, async_steps=1) as world:
        run = await world.engine.start(two, "w")
        await held.called("no limit")
        await asyncio.sleep(0.02)  # longer than the timeout of the one that waits for room
        held.give("no limit", "first")
        assert await run.result() == ["first", "attempt 1"]
