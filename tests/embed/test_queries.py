"""Queries: they read the state of the code, change nothing, and answer when it is durable."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import fusee
from fusee import Context, Query, QueryFailed, ReadOnlyViolation, Signal, UnknownHandler, workflow
from fusee.base.errors import EncodeError
from tests.support.aio import in_loop
from tests.support.steps import Held
from tests.support.worlds import HeldLog, opened

seen: Query[None, list[str]] = Query[None, list[str]]("seen")
at: Query[int, str] = Query[int, str]("at")
word: Signal[str] = Signal[str]("word")
held = Held()


@workflow
async def collects(ctx: Context, count: int) -> list[str]:
    words: list[str] = []
    ctx.on_query(seen)(lambda: words)

    @ctx.on_query(at)
    def _at(index: int) -> str:
        return words[index]

    for _ in range(count):
        words.append(await ctx.wait_for(word))
    return words


@in_loop
async def test_a_query_reads_the_present_state_of_open_closed_and_reopened_runs() -> None:
    async with opened(collects) as world:
        run = await world.engine.start(collects, "w", 2)
        assert await run.query(seen) == []
        await run.signal(word, "a")
        assert await run.query(seen) == ["a"]
        assert await run.query(at, 0) == "a"
        log = list(world.log)
        await run.signal(word, "b")
        await run.result()
        assert await run.query(seen) == ["a", "b"], "a closed run is replayed to be asked"
        closed = list(world.log)
    async with opened(collects, log=log) as again:
        assert await again.engine.get(collects, "w").query(seen) == ["a"]
        assert again.log == log, "a query writes nothing"
    async with opened(collects, log=closed) as again:
        answers = await asyncio.gather(
            *(again.engine.get(collects, "w").query(at, i) for i in (0, 1))
        )
        assert answers == ["a", "b"]


@in_loop
async def test_an_answer_waits_until_the_state_it_tells_is_durable() -> None:
    disk = HeldLog()
    async with opened(collects, storage=disk) as world:
        start = asyncio.create_task(world.engine.start(collects, "w", 2))
        await world.settle()
        disk.release()
        run = await start
        signal = asyncio.create_task(run.signal(word, "a"))
        await world.settle()
        answer = asyncio.create_task(run.query(seen))
        await world.settle()
        assert not answer.done()
        disk.release()
        await signal
        assert await answer == ["a"]


@in_loop
async def test_a_query_before_the_first_turn_waits_for_it() -> None:
    async with opened(collects) as world:
        start = asyncio.create_task(world.engine.start(collects, "w", 1))
        await asyncio.sleep(0)
        assert await world.engine.get(collects, "w").query(seen) == []
        await start


@in_loop
async def test_unknown_queries_name_the_known_ones() -> None:
    async with opened(collects) as world:
        run = await world.engine.start(collects, "w", 1)
        with pytest.raises(UnknownHandler, match=r"no query 'nope' \(known: at, seen\)") as error:
            await run.query("nope")
        assert error.value.known == ("at", "seen")
        with pytest.raises(fusee.RunNotFound):
            await world.engine.get(collects, "nobody").query(seen)


@in_loop
async def test_a_handler_that_raises_fails_the_query_only() -> None:
    async with opened(collects) as world:
        run = await world.engine.start(collects, "w", 1)
        with pytest.raises(QueryFailed, match="IndexError") as failed:
            await run.query(at, 5)
        assert isinstance(failed.value.__cause__, IndexError)
        await run.signal(word, "a")
        assert await run.result() == ["a"]


unsendable: Query[None, float] = Query[None, float]("unsendable")


@workflow
async def answers_nonsense(ctx: Context) -> None:
    ctx.on_query(unsendable)(lambda: float("nan"))
    await ctx.wait_for("never")


@in_loop
async def test_an_answer_that_cannot_be_sent_is_the_handlers_failure() -> None:
    async with opened(answers_nonsense) as world:
        run = await world.engine.start(answers_nonsense, "w")
        with pytest.raises(QueryFailed, match="an answer that cannot be sent") as failed:
            await run.query(unsendable)
        assert isinstance(failed.value.__cause__, EncodeError)


@workflow
async def mischief(ctx: Context) -> str:
    event, queue = asyncio.Event(), asyncio.Queue[str]()
    count = 0

    async def task() -> None:
        await ctx.step(held, "from a query's task")

    @ctx.on_query("steps")
    def _steps() -> str:
        ctx.step(held, "from a query")
        return "never"

    @ctx.on_query("draws")
    def _draws() -> str:
        return str(ctx.now())

    @ctx.on_query("wakes")
    def _wakes() -> str:
        event.set()
        return "woke"

    @ctx.on_query("tasks")
    def _tasks() -> str:
        nonlocal count
        count += 1
        asyncio.get_running_loop().create_task(task())
        return "started"

    @ctx.on_query("timers")
    def _timers() -> str:
        asyncio.get_running_loop().call_later(5, queue.put_nowait, "x")
        return "armed"

    ctx.on_query("count")(lambda: count)

    async def waits() -> None:
        await event.wait()
        await ctx.step(held, "woken by a query")

    waiter = asyncio.create_task(waits())
    result = await ctx.wait_for(word)
    waiter.cancel()
    return result


@pytest.mark.parametrize("name", ["steps", "draws", "wakes", "tasks", "timers"])
def test_a_handler_that_writes_is_refused_and_the_run_is_unharmed(name: str) -> None:
    @in_loop
    async def scenario() -> None:
        held.calls.clear()
        async with opened(mischief) as world:
            run = await world.engine.start(mischief, "w")
            await run.query("count")
            before = list(world.log)
            with pytest.raises(ReadOnlyViolation):
                await run.query(name)
            assert await run.query("count") == 0, "its state is the recorded one"
            assert world.log == before
            await run.signal(word, "fine")
            assert await run.result() == "fine"
            log = list(world.log)
        assert not held.calls
        async with opened(mischief, log=log[:-1]) as again:
            assert await again.engine.get(mischief, "w").result() == "fine"

    scenario()


@in_loop
async def test_async_handlers_are_refused_where_they_are_registered() -> None:
    @workflow
    async def wrong(ctx: Context) -> str:
        async def handler() -> str:
            return ""

        try:
            ctx.on_query("x")(handler)
        except TypeError as error:
            return str(error)
        return ""

    async with opened(wrong) as world:
        assert "a query answers at once: use def" in await world.engine.run(wrong, "w")


@in_loop
async def test_closing_while_a_closed_run_is_replayed_for_a_query_answers_and_leaves_no_task() -> (
    None
):
    async with opened(collects) as world:
        run = await world.engine.start(collects, "w", 3)
        for i in range(3):
            await run.signal(word, str(i))
        await run.result()
        log = list(world.log)
    async with opened(collects, log=log) as again:
        asking: Any = asyncio.create_task(again.engine.get(collects, "w").query(seen))
        await asyncio.sleep(0)
        again.core.draining = True
        await asyncio.sleep(0)
    with pytest.raises(fusee.EngineStopped):
        await asking


@in_loop
async def test_a_held_run_is_not_asked() -> None:
    async with opened(collects) as world:
        await world.engine.start(collects, "w", 1)
        log = list(world.log)
    async with opened(log=log) as again:
        with pytest.raises(fusee.RunHeld) as refused:
            await again.engine.get("collects", "w").query("seen")
        assert refused.value.reason == "no-code"
