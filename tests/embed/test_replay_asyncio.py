"""Plain asyncio in workflows: live and after a crash at every point, the same."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fusee import Context, Engine, Signal, Workflow, workflow
from tests.support.aio import in_loop, spin
from tests.support.prefixes import Ledger, crash_at_every_point
from tests.support.worlds import delivered

ledger = Ledger()
note: Signal[str] = Signal[str]("note")


async def work(name: str, rounds: int = 0) -> str:
    ledger.note()
    await spin(rounds)
    return name


async def fail(name: str, rounds: int = 0) -> str:
    ledger.note()
    await spin(rounds)
    raise KeyError(name)


def driving(target: Workflow[Any, Any], *args: Any) -> Callable[[Engine], Awaitable[Any]]:
    async def drive(engine: Engine) -> Any:
        run = await engine.options(request_id="r").start(target, "w", *args)
        return await run.result()

    return drive


@workflow
async def two_sequences(ctx: Context, rounds: list[list[int]]) -> list[list[str]]:
    async def sequence(name: str, all_rounds: list[int]) -> list[str]:
        return [await ctx.step(work, f"{name}{i}", n) for i, n in enumerate(all_rounds)]

    return list(await asyncio.gather(*(sequence(f"s{i}-", r) for i, r in enumerate(rounds))))


@settings(max_examples=15, deadline=None)
@given(st.lists(st.lists(st.integers(0, 6), max_size=4), min_size=1, max_size=3))
def test_a_gather_of_sequences_survives_a_crash_at_every_record(rounds: list[list[int]]) -> None:
    @in_loop
    async def scenario() -> None:
        await crash_at_every_point([two_sequences], driving(two_sequences, rounds), ledger)

    ledger.keys.clear()
    scenario()


@workflow
async def react(ctx: Context, rounds: list[int]) -> list[str]:
    pending: set[asyncio.Future[str]] = {ctx.step(work, f"{i}", n) for i, n in enumerate(rounds)}
    seen: list[str] = []
    while pending:
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        for op in done:
            seen.append(await ctx.step(work, f"after {op.result()}"))
    return seen


@in_loop
async def test_reacting_to_the_first_completed_is_decided_once() -> None:
    ledger.keys.clear()
    await crash_at_every_point([react], driving(react, [5, 1, 3, 1, 0]), ledger, same=False)


@workflow
async def each_as_completed(ctx: Context, rounds: list[int]) -> list[str]:
    async def one(i: int, n: int) -> str:
        return await ctx.step(work, f"{i}", n)

    seen: list[str] = []
    for done in asyncio.as_completed([one(i, n) for i, n in enumerate(rounds)]):
        seen.append(await ctx.step(work, f"after {await done}"))
    return seen


@in_loop
async def test_as_completed_over_coroutines_is_decided_once() -> None:
    ledger.keys.clear()
    await crash_at_every_point(
        [each_as_completed], driving(each_as_completed, [4, 0, 2, 2, 0, 1]), ledger, same=False
    )


@workflow
async def race_of_branches(ctx: Context) -> list[str]:
    """A -> B beside a slow C: B is called while C runs."""

    async def branch() -> str:
        await ctx.step(work, "a")
        return await ctx.step(work, "b")

    slow = ctx.step(work, "c", 40)
    first = await branch()
    return [first, await slow]


@in_loop
async def test_a_branch_that_goes_on_does_not_run_its_slow_sibling_twice() -> None:
    ledger.keys.clear()
    await crash_at_every_point([race_of_branches], driving(race_of_branches), ledger)


@workflow
async def group_fails(ctx: Context) -> list[str]:
    trace: list[str] = []

    async def patient(name: str, wait: Callable[[], Awaitable[Any]]) -> None:
        try:
            await wait()
        except asyncio.CancelledError:
            trace.append(f"{name} cancelled")
            await ctx.step(work, f"clean {name}")
            raise

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(patient("step", lambda: ctx.step(work, "long", 60)))
            group.create_task(patient("sleep", lambda: ctx.sleep("1h")))
            group.create_task(patient("plain sleep", lambda: asyncio.sleep(3600)))
            group.create_task(patient("wait", lambda: ctx.wait_for(note)))
            group.create_task(
                patient("read", lambda: ctx.options(read_only=True).step(work, "r", 60))
            )
            group.create_task(patient("fail", lambda: ctx.step(fail, "boom", 3)))
    except* KeyError as errors:
        trace.append(repr(errors.exceptions))
    return trace


@in_loop
async def test_a_failing_task_group_cancels_in_order_of_creation_live_and_on_replay() -> None:
    ledger.keys.clear()
    story = await crash_at_every_point([group_fails], driving(group_fails), ledger)

    assert story.result == [
        "step cancelled",
        "sleep cancelled",
        "plain sleep cancelled",
        "wait cancelled",
        "read cancelled",
        "(KeyError('boom'),)",
    ]


@workflow
async def timeouts(ctx: Context) -> list[str]:
    seen: list[str] = []
    try:
        async with asyncio.timeout(5):
            await ctx.sleep("1h", name="long")
    except TimeoutError:
        seen.append("timeout")
    try:
        await asyncio.wait_for(ctx.wait_for(note), 7)
    except TimeoutError:
        seen.append("wait_for")
    async with asyncio.timeout(3600):
        seen.append(await ctx.step(work, "in time"))
    seen.append(await asyncio.wait_for(ctx.step(work, "also in time"), 3600))
    start = asyncio.get_running_loop().time()
    await asyncio.sleep(2.5)
    seen.append(f"{asyncio.get_running_loop().time() - start:.1f}")
    before = ctx.now()
    await ctx.sleep("90s")
    seen.append(f"{(ctx.now() - before).total_seconds():.0f}")
    try:
        await ctx.wait_for(note, timeout="1m")
    except TimeoutError:
        seen.append("no note")
    seen.append(str(await ctx.wait_for(note, timeout="1m", default="none")))
    return seen


@in_loop
async def test_timeouts_and_sleeps_replay_to_the_same_result() -> None:
    ledger.keys.clear()
    story = await crash_at_every_point([timeouts], driving(timeouts), ledger)

    assert story.result == [
        "timeout", "wait_for", "in time", "also in time", "2.5", "90", "no note", "none",
    ]  # fmt: skip


@workflow
async def primitives(ctx: Context) -> list[str]:
    lock, room = asyncio.Lock(), asyncio.Semaphore(2)
    queue: asyncio.Queue[str] = asyncio.Queue(maxsize=1)
    ready, condition = asyncio.Event(), asyncio.Condition()
    seen: list[str] = []

    async def producer() -> None:
        for i in range(3):
            await queue.put(await ctx.step(work, f"p{i}", 3 - i))
        ready.set()

    async def consumer() -> None:
        for _ in range(3):
            seen.append(await ctx.step(work, f"got {await queue.get()}"))

    async def guarded(i: int) -> None:
        async with room, lock:
            seen.append(await ctx.step(work, f"guarded {i}", 4 - i))
        async with condition:
            condition.notify_all()

    async def waiter() -> None:
        await ready.wait()
        async with condition:
            await condition.wait_for(lambda: len(seen) == 7)
        seen.append(await ctx.step(work, "end"))

    async with asyncio.TaskGroup() as group:
        group.create_task(producer())
        group.create_task(consumer())
        for i in range(4):
            group.create_task(guarded(i))
        group.create_task(waiter())
    return seen


@in_loop
async def test_locks_queues_semaphores_events_and_conditions_replay() -> None:
    ledger.keys.clear()
    story = await crash_at_every_point([primitives], driving(primitives), ledger, same=False)

    assert story.result[-1] == "end"
    assert all(sorted(result) == sorted(story.result) for result in story.results)


@workflow
async def event_beats_timer(ctx: Context) -> list[str]:
    sleep = ctx.sleep("1h", name="cool-off")
    wait = ctx.wait_for(note)
    done, pending = await asyncio.wait({sleep, wait}, return_when=asyncio.FIRST_COMPLETED)
    winner = "signal" if wait in done else "timer"
    for op in pending:
        op.cancel()
    await ctx.step(work, "later")
    late = await ctx.wait_for(note, timeout="1s", default="none")
    return [winner, str(late)]


@in_loop
async def test_the_recorded_winner_of_a_race_wins_after_a_long_downtime() -> None:
    async def signal_wins(engine: Engine) -> Any:
        run = await engine.options(request_id="r").start(event_beats_timer, "w")
        if (await run.describe()).status == "running":
            await run.signal(note, "now", signal_id="s")
        return await run.result()

    ledger.keys.clear()
    story = await crash_at_every_point([event_beats_timer], signal_wins, ledger)
    assert story.result == ["signal", "none"]


@in_loop
async def test_the_losers_signal_stays_readable() -> None:
    async def timer_wins(engine: Engine) -> Any:
        run = await engine.options(request_id="r").start(event_beats_timer, "w")
        while (await run.describe()).status == "running":
            journal = await run.journal()
            if any(e.name == "cool-off" and e.delivered for e in journal):
                await run.signal(note, "late", signal_id="s")
                break
            await asyncio.sleep(0)
        return await run.result()

    ledger.keys.clear()
    story = await crash_at_every_point([event_beats_timer], timer_wins, ledger)
    assert story.result == ["timer", "late"]


@workflow
async def shields(ctx: Context) -> list[str]:
    seen: list[str] = []
    op = ctx.step(work, "shielded", 30)
    try:
        async with asyncio.timeout(0.5):
            await asyncio.shield(op)
    except TimeoutError:
        seen.append("gave up")
    seen.append(await op)
    dropped = [asyncio.create_task(ctx_step(ctx, f"d{i}")) for i in range(2)]
    del dropped
    await ctx.sleep("1s")
    return seen


async def ctx_step(ctx: Context, name: str) -> str:
    return await ctx.step(work, name)


@in_loop
async def test_shielded_operations_and_dropped_tasks_replay() -> None:
    ledger.keys.clear()
    story = await crash_at_every_point([shields], driving(shields), ledger, same=False)
    assert story.result[-1] == "shielded"


@workflow
async def chain(ctx: Context, count: int) -> int:
    total = 0
    for i in range(count):
        total += int(await ctx.step(work, str(i)))
    return total


@in_loop
async def test_outcomes_are_delivered_once_and_in_order_of_positions_in_a_chain() -> None:
    ledger.keys.clear()
    story = await crash_at_every_point([chain], driving(chain, 5), ledger)

    assert delivered(story.log) == [1, 2, 3, 4, 5]
    assert len(story.log) == 2 + 5, "start, first turn, then one group a step"
