"""Signals: recorded when accepted, first in first out, one signal to one waiter, never lost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import fusee
from fusee import Backlogged, Context, RunNotFound, Signal, WorkflowFinished, workflow
from fusee.base.limits import UNREAD_SIGNALS_MAX
from fusee.record.kinds import SignalReceived
from tests.support.aio import in_loop
from tests.support.prefixes import Ledger, crash_at_every_point
from tests.support.worlds import HeldLog, opened

note: Signal[str] = Signal[str]("note")
more: Signal[int] = Signal[int]("more")


async def nothing() -> None:
    """A step."""


@workflow
async def reads(ctx: Context, count: int) -> list[str]:
    await ctx.step(nothing)
    return [await ctx.wait_for(note) for _ in range(count)]


@in_loop
async def test_signals_sent_before_the_first_instruction_are_read_in_order() -> None:
    disk = HeldLog()
    async with opened(reads, storage=disk) as world:
        start = asyncio.create_task(world.engine.start(reads, "w", 3))
        await asyncio.sleep(0)
        signals = [
            asyncio.create_task(world.engine.get(reads, "w").signal(note, f"{i}")) for i in range(3)
        ]
        await world.settle()
        while disk.held:
            disk.release()
            await world.settle()
        await asyncio.gather(*signals)
        assert await (await start).result() == ["0", "1", "2"]


@in_loop
async def test_signals_are_read_live_as_after_a_crash_at_every_point() -> None:
    async def drive(engine: fusee.Engine) -> Any:
        run = await engine.options(request_id="r").start(reads, "w", 4)
        for i in range(4):
            if (await run.describe()).status == "running":
                await run.signal(note, f"{i}", signal_id=f"s{i}")
        return await run.result()

    story = await crash_at_every_point([reads], drive, Ledger())
    assert story.result == ["0", "1", "2", "3"]


@workflow
async def several_waiters(ctx: Context) -> list[list[str]]:
    async def reader(name: str, count: int) -> list[str]:
        return [name, *[await ctx.wait_for(note) for _ in range(count)]]

    return list(await asyncio.gather(reader("a", 1), reader("b", 2), reader("c", 1)))


@in_loop
async def test_the_oldest_waiter_gets_the_oldest_signal() -> None:
    async with opened(several_waiters) as world:
        run = await world.engine.start(several_waiters, "w")
        for i in range(4):
            await run.signal(note, f"{i}")
        assert await run.result() == [["a", "0"], ["b", "1", "3"], ["c", "2"]]


@workflow
async def in_arrival_order(ctx: Context) -> list[str]:
    await ctx.step(held_back)
    seen: list[str] = []

    async def one(signal: Signal[Any]) -> None:
        seen.append(f"{signal.name} {await ctx.wait_for(signal)}")

    await asyncio.gather(one(note), one(more))
    return seen


gate: list[asyncio.Future[None]] = []


async def held_back() -> None:
    gate.append(asyncio.get_running_loop().create_future())
    await gate[-1]


@in_loop
async def test_two_waits_with_both_signals_unread_are_answered_in_order_of_arrival() -> None:
    async with opened(in_arrival_order) as world:
        run = await world.engine.start(in_arrival_order, "w")
        await run.signal(more, 1)
        await run.signal(note, "x")
        gate.pop().set_result(None)
        assert await run.result() == ["more 1", "note x"]
        log = list(world.log)
    async with opened(in_arrival_order, log=log[:-1]) as again:
        assert await again.engine.get(in_arrival_order, "w").result() == ["more 1", "note x"]


@workflow
async def impatient(ctx: Context) -> list[Any]:
    seen: list[Any] = []
    try:
        await ctx.wait_for(note, timeout="1s")
    except TimeoutError as error:
        seen.append(str(error))
    seen.append(await ctx.wait_for(note, timeout="1s", default=None))
    await ctx.step(nothing)
    seen.append(await ctx.wait_for(note, timeout="1h", default="late"))
    return seen


@in_loop
async def test_the_timeout_raises_or_returns_its_default_and_a_later_signal_stays_unread() -> None:
    async with opened(impatient) as world:
        run = await world.engine.start(impatient, "w")
        await world.settle()
        world.skip()
        await world.settle()
        world.skip()
        await world.settle()
        await run.signal(note, "in time")
        assert await run.result() == ["no signal 'note' came in time", None, "in time"]


@in_loop
async def test_after_a_long_downtime_unread_signals_come_before_overdue_timers() -> None:
    @workflow
    async def races(ctx: Context) -> str:
        await ctx.step(nothing)
        return str(await ctx.wait_for(note, timeout="1m", default="too late"))

    async with opened(races) as world:
        run = await world.engine.start(races, "w")
        await world.settle()
        log = list(world.log)
        del run
    async with opened(log=log) as closed:  # no code is registered: the signal stays unread
        await closed.engine.get("races", "w").signal(note, "early", signal_id="s")
        log = list(closed.log)
    async with opened(races, log=log) as world:
        world.advance(3600)
        assert await world.finish(world.engine.get(races, "w").result()) == "early"


@in_loop
async def test_one_signal_id_is_one_signal_and_the_first_payload_stands(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with opened(reads) as world:
        run = await world.engine.start(reads, "w", 2)
        await run.signal(note, "first", signal_id="s1")
        await run.signal(note, "first", signal_id="s1")
        assert not caplog.records
        await run.signal(note, "other", signal_id="s1")
        assert "came again with another value" in caplog.text
        log = list(world.log)
    async with opened(reads, log=log) as again:
        run = again.engine.get(reads, "w")
        await run.signal(note, "first", signal_id="s1")
        await run.signal(note, "second", signal_id="s2")
        assert await run.result() == ["first", "second"]
        assert len(again.records(SignalReceived)) == 2


@in_loop
async def test_a_signal_id_must_name_something() -> None:
    async with opened(reads) as world:
        run = await world.engine.start(reads, "w", 1)
        for bad in ("", " ", "a\0b", "x" * 513):
            with pytest.raises(ValueError, match="signal_id"):
                await run.signal(note, "x", signal_id=bad)
        assert not world.records(SignalReceived)


@in_loop
async def test_signals_nobody_waits_for_are_shown_as_unread() -> None:
    async with opened(reads) as world:
        run = await world.engine.start(reads, "w", 1)
        for i in range(3):
            await run.signal("nobody knows", {"i": i})
        assert (await run.describe()).unread_signals == {"nobody knows": 3}
        await run.signal(note, "x")
        assert await run.result() == ["x"]
        assert (await run.describe()).unread_signals == {"nobody knows": 3}


@in_loop
async def test_closed_and_unknown_runs_take_no_signals() -> None:
    async with opened(reads) as world:
        await world.engine.run(reads, "w", 0)
        with pytest.raises(WorkflowFinished, match="w/1 has finished"):
            await world.engine.get(reads, "w").signal(note, "x")
        with pytest.raises(RunNotFound, match="no run has the ID 'nobody'"):
            await world.engine.get(reads, "nobody").signal(note, "x")


@in_loop
async def test_a_signal_that_comes_again_is_acknowledged_again_by_a_finished_run() -> None:
    """Its sender lost the first answer; a refusal would say that the signal was lost."""
    async with opened(reads) as world:
        run = await world.engine.start(reads, "w", 1)
        await run.signal(note, "x", signal_id="once")
        assert await run.result() == ["x"]
        await run.signal(note, "x", signal_id="once")
        with pytest.raises(WorkflowFinished):
            await run.signal(note, "x", signal_id="another")


@in_loop
async def test_a_run_with_too_many_unread_signals_refuses_more_until_it_reads() -> None:
    async with opened(reads) as world:
        run = await world.engine.start(reads, "w", 1)
        await world.settle()
        for i in range(UNREAD_SIGNALS_MAX):
            world_signal(world, i)
        with pytest.raises(Backlogged, match="10000 unread signals"):
            await run.signal("other", 1)


def world_signal(world: Any, i: int) -> None:
    """Signal without a wait for its ack: 10,000 of those are not this test's subject."""
    from fusee.engine.messages import signal

    signal(world.core, "w", None, "flood", f"s{i}", b"1")


@in_loop
async def test_a_wrong_value_is_refused_where_it_is_sent() -> None:
    async with opened(reads) as world:
        run = await world.engine.start(reads, "w", 1)
        with pytest.raises(fusee.EncodeError, match="signal 'more'"):
            await run.signal(more, "three")  # type: ignore[arg-type]
        assert not world.records(SignalReceived)


# ---------------------------------------------------------------- between runs


@workflow
async def sends(ctx: Context, target: str, count: int) -> list[str]:
    seen: list[str] = []
    for i in range(count):
        try:
            await ctx.external(target).signal(note, f"{i}")
            seen.append("sent")
        except fusee.FuseeError as error:
            seen.append(type(error).__name__)
        await ctx.step(nothing)
    return seen


@in_loop
async def test_a_message_to_another_run_joins_the_senders_atomic_group() -> None:
    async with opened(reads, sends) as world:
        reader = await world.engine.start(reads, "reader", 2)
        await world.settle()
        before = len(world.log)
        assert await world.engine.run(sends, "sender", "reader", 2) == ["sent", "sent"]
        assert await reader.result() == ["0", "1"]
        together = [ticket for ticket in world.log[before:] if len(ticket) == 2]
        assert len(together) == 2


@in_loop
async def test_messages_arrive_once_after_a_crash_at_every_point() -> None:
    async def drive(engine: fusee.Engine) -> Any:
        fixed = engine.options(request_id="r")
        reader = await fixed.start(reads, "reader", 3)
        sender = await fixed.start(sends, "sender", "reader", 3)
        return [await sender.result(), await reader.result()]

    story = await crash_at_every_point([reads, sends], drive, Ledger())
    assert story.result == [["sent"] * 3, ["0", "1", "2"]]


@in_loop
async def test_a_message_to_no_run_or_to_a_closed_one_raises_live_and_on_replay() -> None:
    async def drive(engine: fusee.Engine) -> Any:
        fixed = engine.options(request_id="r")
        await (await fixed.start(reads, "closed", 0)).result()
        first = await (await fixed.start(sends, "a", "nobody", 2)).result()
        return [first, await (await fixed.start(sends, "b", "closed", 1)).result()]

    story = await crash_at_every_point([reads, sends], drive, Ledger())
    assert story.result == [["RunNotFound", "RunNotFound"], ["WorkflowFinished"]]


@workflow
async def to_itself(ctx: Context, last_turn: bool) -> list[str]:
    op = ctx.external(ctx.info.id).signal(note, "hello")
    if last_turn:
        return ["sent in the last turn"]
    await op
    return [await ctx.wait_for(note)]


@pytest.mark.parametrize("last_turn", [False, True])
def test_a_run_may_signal_itself_even_in_its_last_turn(last_turn: bool) -> None:
    @in_loop
    async def scenario() -> None:
        async def drive(engine: fusee.Engine) -> Any:
            run = await engine.options(request_id="r").start(to_itself, "w", last_turn)
            return await run.result()

        await crash_at_every_point([to_itself], drive, Ledger())
        async with opened(to_itself) as world:
            await world.engine.run(to_itself, "w", last_turn)
            log = list(world.log)
        async with opened(to_itself, log=log) as again:
            assert (await again.engine.get(to_itself, "w").describe()).status == "completed"

    scenario()


@in_loop
async def test_a_long_id_can_be_signalled() -> None:
    async with opened(reads, sends) as world:
        long = "x" * 512
        reader = await world.engine.start(reads, long, 1)
        assert await world.engine.run(sends, "sender", long, 1) == ["sent"]
        assert await reader.result() == ["0"]


@workflow
async def iterates(ctx: Context) -> list[str]:
    seen: list[str] = []
    async for word in ctx.signals(note):
        if word == "stop":
            break
        seen.append(word)
    return [*seen, await ctx.wait_for(note)]


@in_loop
async def test_leaving_an_iteration_over_signals_loses_nothing() -> None:
    async with opened(iterates) as world:
        run = await world.engine.start(iterates, "w")
        for word in ("a", "b", "stop", "after"):
            await run.signal(note, word)
        assert await run.result() == ["a", "b", "after"]


@workflow
async def loser_is_cancelled(ctx: Context) -> list[str]:
    first, second = ctx.wait_for(note), ctx.wait_for(note)
    done, pending = await asyncio.wait({first, second}, return_when=asyncio.FIRST_COMPLETED)
    for op in pending:
        op.cancel()
    await ctx.step(nothing)
    return [op.result() for op in done] + [await ctx.wait_for(note)]


@in_loop
async def test_a_cancelled_wait_consumes_nothing() -> None:
    async with opened(loser_is_cancelled) as world:
        run = await world.engine.start(loser_is_cancelled, "w")
        await run.signal(note, "a")
        await run.signal(note, "b")
        assert await run.result() == ["a", "b"]


@in_loop
async def test_a_signal_that_does_not_fit_holds_the_run_and_is_not_consumed() -> None:
    async with opened(reads) as world:
        run = await world.engine.start(reads, "w", 1)
        await run.signal("note", {"no": "text"})
        await world.settle()
        info = await run.describe()
        assert (info.held, info.unread_signals) == ("decode", {"note": 1})
        assert "signal 'note'" in str(info.held_text)


@in_loop
async def test_the_last_signal_is_read_though_its_run_was_busy_replaying() -> None:
    async with opened(reads) as world:
        await world.engine.start(reads, "w", 3)
        for i in range(2):
            await world.engine.get(reads, "w").signal(note, f"{i}", signal_id=f"s{i}")
        await world.settle()
        log = list(world.log)
    async with opened(reads, log=log) as world:
        run = world.engine.get(reads, "w")
        await run.signal(note, "2", signal_id="s2")
        assert await run.result() == ["0", "1", "2"]
