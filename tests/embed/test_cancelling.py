"""Operations the code cancels: who hears of it, what still happens, what is left behind."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import Any

import pytest

import fusee
from fusee import Context, Retry, Signal, StepCancelled, workflow
from fusee.record.kinds import Completed
from tests.support import children
from tests.support.aio import in_loop, spin
from tests.support.prefixes import Ledger, crash_at_every_point
from tests.support.steps import Held
from tests.support.worlds import HeldLog, opened

held = Held()
note: Signal[str] = Signal[str]("note")


async def nothing() -> None:
    """A step."""


@workflow
async def cancels_a_step(ctx: Context) -> list[str]:
    seen: list[str] = []
    op = ctx.step(held, "running")
    await ctx.sleep("1s")
    op.cancel()
    try:
        await op
    except asyncio.CancelledError:
        seen.append("awaiters get CancelledError")
    try:
        seen.append(await op.outcome())
    except StepCancelled as error:
        seen.append(str(error))
    return seen


@in_loop
async def test_a_running_step_is_asked_to_stop_and_its_true_outcome_can_be_awaited() -> None:
    held.cancelled.clear()
    async with opened(cancels_a_step) as world:
        run = await world.engine.start(cancels_a_step, "w")
        await held.called("running")
        world.advance(1)
        assert await run.result() == [
            "awaiters get CancelledError",
            "step 'Held' was cancelled while it ran",
        ]
        assert held.cancelled == ["running"]
        log = list(world.log)
    async with opened(cancels_a_step, log=log[:-1]) as again:
        assert (await again.engine.get(cancels_a_step, "w").result())[0].startswith("awaiters")


class Finishes:
    """Hears that it shall stop, and finishes all the same."""

    async def __call__(self) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "finished all the same"
        raise AssertionError


@workflow
async def outcome_of_one_that_finishes(ctx: Context) -> list[str]:
    op = ctx.step(Finishes())
    await ctx.sleep("1s")
    op.cancel()

    async def asks(patience: float) -> str:
        try:
            async with asyncio.timeout(patience):
                return await op.outcome()
        except TimeoutError:
            return "gave up"

    answers = await asyncio.gather(asks(3600), op.outcome(), asks(3600))
    await ctx.sleep("1s")
    return [*answers, await op.outcome()]


@in_loop
async def test_any_number_of_waiters_learn_what_a_cancelled_step_really_did() -> None:
    async with opened(outcome_of_one_that_finishes) as world:
        run = await world.engine.start(outcome_of_one_that_finishes, "w")
        await world.settle()
        world.advance(1)
        await world.settle()
        world.advance(1)
        assert await run.result() == ["finished all the same"] * 4
        log = list(world.log)
    async with opened(outcome_of_one_that_finishes, log=log[:-1]) as again:
        run = again.engine.get(outcome_of_one_that_finishes, "w")
        assert await again.finish(run.result()) == ["finished all the same"] * 4


@workflow
async def gives_up_on_the_outcome(ctx: Context) -> list[str]:
    op = ctx.step(held, "slow to stop")
    await ctx.sleep("1s")
    op.cancel()
    seen: list[str] = []
    waiter = asyncio.create_task(op.outcome())
    await asyncio.sleep(0)
    waiter.cancel()
    try:
        await waiter
    except asyncio.CancelledError:
        seen.append("gave up")
    try:
        await op.outcome()
    except StepCancelled:
        seen.append("another one waits on")
    return seen


@in_loop
async def test_giving_up_on_an_outcome_takes_it_from_nobody_else() -> None:
    async with opened(gives_up_on_the_outcome) as world:
        run = await world.engine.start(gives_up_on_the_outcome, "w")
        await held.called("slow to stop")
        world.advance(1)
        assert await run.result() == ["gave up", "another one waits on"]


@workflow
async def cancels_behind_the_gate(ctx: Context, same_turn: bool) -> str:
    op = ctx.step(held, "behind the gate")
    if not same_turn:
        await asyncio.sleep(0)
    op.cancel()
    try:
        await op.outcome()
    except StepCancelled as error:
        return str(error)
    return ""


@pytest.mark.parametrize("same_turn", [True, False])
def test_a_step_cancelled_behind_its_gate_never_runs(same_turn: bool) -> None:
    @in_loop
    async def scenario() -> None:
        disk = HeldLog()
        async with opened(cancels_behind_the_gate, storage=disk) as world:
            start = asyncio.create_task(world.engine.start(cancels_behind_the_gate, "w", same_turn))
            await world.settle()
            while disk.held:
                disk.release()
                await world.settle()
            assert "before it ran" in await (await start).result()
        assert "behind the gate" not in held.calls

    scenario()


@workflow
async def cancels_between_attempts(ctx: Context) -> str:
    op = ctx.options(retry=Retry(5, initial="1h", jitter=0)).step(held, "fails")
    await ctx.sleep("1m")
    op.cancel()
    try:
        await op.outcome()
    except StepCancelled:
        return "cancelled"
    return ""


@in_loop
async def test_a_step_cancelled_between_two_attempts_never_runs_again() -> None:
    held.calls.clear()
    async with opened(cancels_between_attempts) as world:
        run = await world.engine.start(cancels_between_attempts, "w")
        await held.called("fails")
        held.fail("fails", OSError())
        await world.settle()
        world.advance(60)
        assert await run.result() == "cancelled"
        assert world.core.timers.next_due_us() is None
    assert held.calls == ["fails"]


@workflow
async def cancels_a_thread(ctx: Context) -> str:
    op = ctx.step(watches)
    await ctx.sleep("1s")
    op.cancel()
    return await op.outcome()


noticed = threading.Event()


def watches() -> str:
    step = fusee.current_step()
    while not step.cancelled:
        pass
    return "noticed"


@in_loop
async def test_a_thread_sees_that_it_was_cancelled() -> None:
    async with opened(cancels_a_thread) as world:
        run = await world.engine.start(cancels_a_thread, "w")
        await world.settle()
        world.advance(1)
        assert await run.result() == "noticed"


@workflow
async def cancels_queued_threads(ctx: Context) -> list[str]:
    first = ctx.step(blocks, "first")
    second = ctx.step(blocks, "second")
    await ctx.sleep("1s")
    second.cancel()
    seen: list[str] = []
    try:
        await second.outcome()
    except StepCancelled as error:
        seen.append(str(error))
    return [*seen, await first]


unblock = threading.Event()
blocked: list[str] = []


def blocks(name: str) -> str:
    blocked.append(name)
    unblock.wait(20)
    return name


@in_loop
async def test_a_sync_step_that_waits_for_a_thread_is_taken_back_at_once() -> None:
    async with opened(cancels_queued_threads, sync_threads=1) as world:
        run = await world.engine.start(cancels_queued_threads, "w")
        while not blocked:
            await asyncio.sleep(0)
        world.advance(1)
        await world.settle()
        assert len(world.records(Completed)) == 2, "the sleep, and the step that was taken back"
        unblock.set()
        assert await run.result() == ["step 'blocks' was cancelled before it ran", "first"]
    assert blocked == ["first"]


@workflow
async def reads_and_forgets(ctx: Context) -> str:
    op = ctx.options(read_only=True).step(held, "look")
    await ctx.sleep("1s")
    op.cancel()
    await ctx.step(nothing)
    return "done"


@in_loop
async def test_a_cancelled_read_only_step_leaves_no_record_and_its_function_is_asked_to_stop() -> (
    None
):
    held.cancelled.clear()
    async with opened(reads_and_forgets) as world:
        run = await world.engine.start(reads_and_forgets, "w")
        await held.called("look")
        world.advance(1)
        assert await run.result() == "done"
        await world.settle()
        assert held.cancelled == ["look"]
        assert [r.position for r in world.records(Completed)] == [2, 3]


@workflow
async def cancels_many_sleeps(ctx: Context, count: int) -> int:
    for _ in range(count // 100):
        tasks = [asyncio.create_task(asyncio.sleep(86_400)) for _ in range(50)]
        ops = [ctx.sleep("1d") for _ in range(50)]
        await asyncio.sleep(0)
        for one in (*tasks, *ops):
            one.cancel()
        await ctx.step(nothing)
    return count


@in_loop
async def test_ten_thousand_cancelled_sleeps_leave_no_timer() -> None:
    async with opened(cancels_many_sleeps) as world:
        run = await world.engine.start(cancels_many_sleeps, "w", 10_000)
        assert await run.result() == 10_000
        assert world.core.timers.next_due_us() is None
        assert len(world.core.timers.live) == 0
        assert (await run.describe()).pending == []


@workflow
async def a_loop_that_is_cancelled(ctx: Context, style: str) -> list[str]:
    seen: list[str] = []

    async def loop() -> None:
        try:
            while True:
                if style == "wait_for":
                    await asyncio.wait_for(ctx.step(nothing), 3600)
                elif style == "timeout":
                    async with asyncio.timeout(3600):
                        await ctx.step(nothing)
                else:
                    await ctx.step(nothing)
                seen.append("step")
        except BaseException as error:
            seen.append(type(error).__name__)
            raise

    task = asyncio.create_task(loop())
    for _ in range(3):
        await ctx.step(nothing)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        seen.append("cancelled once")
    return seen[-2:]


@pytest.mark.parametrize("style", ["plain", "wait_for", "timeout"])
def test_a_cancellation_that_meets_a_result_wins(style: str) -> None:
    @in_loop
    async def scenario() -> None:
        async def drive(engine: fusee.Engine) -> Any:
            run = await engine.options(request_id="r").start(a_loop_that_is_cancelled, "w", style)
            return await run.result()

        story = await crash_at_every_point([a_loop_that_is_cancelled], drive, Ledger())
        assert story.result == ["CancelledError", "cancelled once"]

    scenario()


def test_an_engine_gives_wait_for_the_meaning_of_3_12() -> None:
    # In a process of its own: other tests of this one have exchanged the function already.
    done = children.run("tests.support.waiting")

    assert (done.stdout, done.stderr) == ("True\n", "")


@workflow
async def drops_its_tasks(ctx: Context) -> int:
    done: list[int] = []

    async def one(i: int) -> None:
        await ctx.step(nothing)
        await asyncio.sleep(1)
        done.append(i)

    for i in range(20):
        asyncio.create_task(one(i))  # noqa: RUF006 - that nobody holds them is the point
    while len(done) < 20:
        await ctx.sleep("1s")
    return len(done)


@in_loop
async def test_the_collector_at_any_time_destroys_nothing_of_a_run() -> None:
    async with opened(drops_its_tasks) as world:
        task = asyncio.create_task(world.engine.run(drops_its_tasks, "w"))
        while not task.done():
            await spin(3)
            gc.collect()
            world.skip()
        assert await task == 20


@in_loop
async def test_finished_runs_leave_no_task_future_or_timer() -> None:
    def alive() -> int:
        gc.collect()
        return sum(isinstance(o, asyncio.Future | asyncio.TimerHandle) for o in gc.get_objects())

    async with opened(drops_its_tasks, cancels_many_sleeps) as world:
        await world.finish(world.engine.run(drops_its_tasks, "warm"))
        before = alive()
        for i in range(20):
            await world.finish(world.engine.run(drops_its_tasks, f"w{i}"))
            await world.engine.run(cancels_many_sleeps, f"c{i}", 100)
        await world.settle()
        assert alive() <= before + 2
