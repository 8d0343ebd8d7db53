"""Retries and timeouts: what is tried again, after how long, and what survives a crash."""

from __future__ import annotations

from typing import Any

import fusee
from fusee import (
    Context,
    RetriesExhausted,
    Retry,
    RetryAfter,
    workflow,
)
from fusee.record.kinds import AttemptFailed
from tests.support.aio import in_loop, spin
from tests.support.prefixes import Ledger, crash_at_every_point
from tests.support.steps import Held
from tests.support.worlds import opened

calls: list[tuple[str, int]] = []
held = Held()


async def flaky(name: str, failures: int) -> str:
    step = fusee.current_step()
    calls.append((step.key, step.attempt))
    if step.attempt <= failures:
        raise ConnectionError(f"{name} {step.attempt}")
    return f"{name} after {step.attempt}"


@workflow
async def retries(ctx: Context, failures: int) -> str:
    stubborn = ctx.options(retry=Retry(5, initial="10s", jitter=0))
    try:
        return await stubborn.step(flaky, "call", failures)
    except RetriesExhausted as error:
        await ctx.sleep("1s")
        return f"{error} | {error.attempts} | {error.last!r} | {error.__cause__ is error.last}"


async def drive_retries(engine: fusee.Engine) -> Any:
    return await (await engine.options(request_id="r").start(retries, "w", 9)).result()


@in_loop
async def test_attempts_follow_each_other_after_the_recorded_delays() -> None:
    calls.clear()
    async with opened(retries) as world:
        result = await world.finish(world.engine.run(retries, "w", 2))
        assert result == "call after 3"
        failed = world.records(AttemptFailed)
        assert [f.attempt for f in failed] == [1, 2]
        assert [f.due_us - f.at_us for f in failed] == [10_000_000, 20_000_000]
        assert calls == [("w/1/1", 1), ("w/1/1", 2), ("w/1/1", 3)]
        entry = (await world.engine.get(retries, "w").journal())[0]
        assert entry.attempts == 3
        assert [e.partition(":")[0] for e in entry.errors] == ["builtins"] * 2


@in_loop
async def test_exhausted_retries_name_attempts_and_the_last_error_live_and_on_replay() -> None:
    calls.clear()
    story = await crash_at_every_point([retries], drive_retries, Ledger())
    assert story.result == (
        "step 'flaky' failed 5 times; last: ConnectionError('call 5') | 5 | "
        "ConnectionError('call 5') | True"
    )


@in_loop
async def test_a_crash_neither_resets_the_count_nor_the_delay() -> None:
    calls.clear()
    async with opened(retries) as world:
        await world.engine.start(retries, "w", 9)
        await world.settle()
        log, clock = list(world.log), world.clock
    for attempt in range(2, 6):
        # A crash between attempts, then one within the next attempt.
        due_us = next(iter(AttemptFailedIn(log))).due_us
        async with opened(retries, log=log, clock=clock) as world:
            await world.settle()
            assert calls[-1] == ("w/1/1", attempt - 1), "not before it is due"
            clock.now_us = due_us
            world.engine.life.pump.wake()
            await world.settle()
            assert calls[-1] == ("w/1/1", attempt)
            log = list(world.log)
    assert len(calls) == 5
    async with opened(retries, log=log, clock=clock) as world:
        assert "failed 5 times" in await world.finish(world.engine.get(retries, "w").result())
    assert len(calls) == 5


class AttemptFailedIn:
    """The failed attempts of a log, newest first."""

    def __init__(self, log: Any) -> None:
        self._log = log

    def __iter__(self) -> Any:
        from tests.support.worlds import records_in

        found = [r for _, r in records_in(self._log) if isinstance(r, AttemptFailed)]
        return iter(reversed(found))


@in_loop
async def test_a_crash_within_an_attempt_is_not_an_attempt() -> None:
    @workflow
    async def one(ctx: Context) -> str:
        return await ctx.options(retry=Retry(2, initial=0, jitter=0)).step(held, "call")

    held.attempts.clear()
    async with opened(one) as world:
        await world.engine.start(one, "w")
        await held.called("call")
        log = list(world.log)
    for _ in range(3):
        async with opened(one, log=log) as world:
            await held.called("call")
    async with opened(one, log=log) as world:
        await held.called("call")
        held.fail("call", ConnectionError())
        await held.called("call")
        held.give("call", "done")
        assert await world.engine.get(one, "w").result() == "done"
    assert held.attempts == [1, 1, 1, 1, 1, 2]
    assert set(held.keys[-6:]) == {"w/1/1"}


async def rate_limited(delay: float) -> str:
    attempt = fusee.current_step().attempt
    calls.append(("limited", attempt))
    if attempt < 3:
        raise RetryAfter(delay)
    return "let in"


@workflow
async def obeys(ctx: Context, delay: float, within: float | None) -> str:
    retry = Retry(5, initial=1, max=2, jitter=0, within=within)
    return await ctx.options(retry=retry).step(rate_limited, delay)


@in_loop
async def test_retry_after_sets_the_delay_beyond_max_and_only_within_bounds_it() -> None:
    async with opened(obeys) as world:
        assert await world.finish(world.engine.run(obeys, "a", 60, None)) == "let in"
        assert [f.due_us - f.at_us for f in world.records(AttemptFailed)] == [60_000_000] * 2
    async with opened(obeys) as world:
        run = world.engine.run(obeys, "b", 60, 90)
        assert await world.finish(run) == "let in"
        assert [f.due_us - f.at_us for f in world.records(AttemptFailed)] == [
            60_000_000,
            30_000_000,
        ]


@workflow
async def gives_up(ctx: Context) -> int:
    retry = Retry(None, initial=10, factor=1, jitter=0, within=35)
    try:
        await ctx.options(retry=retry).step(flaky, "x", 99)
    except RetriesExhausted as error:
        return error.attempts
    return 0


@in_loop
async def test_no_attempt_begins_after_within() -> None:
    async with opened(gives_up) as world:
        assert await world.finish(world.engine.run(gives_up, "w")) == 4


@in_loop
async def test_without_a_retry_the_class_itself_is_raised() -> None:
    @workflow
    async def once(ctx: Context) -> str:
        try:
            return await ctx.step(flaky, "x", 1)
        except ConnectionError as error:
            return f"{error}"

    async with opened(once) as world:
        assert await world.engine.run(once, "w") == "x 1"


@in_loop
async def test_retries_without_delay_and_end_leave_the_applications_loop_its_turns() -> None:
    @workflow
    async def for_ever(ctx: Context) -> str:
        retry = Retry(None, initial=0, jitter=0)
        return await ctx.options(retry=retry).step(flaky, "x", 10**9)

    async with opened(for_ever) as world:
        await world.engine.start(for_ever, "w")
        calls.clear()
        await spin(20)
        assert 0 < len(calls) < 5_000
