"""How runs end: what is pending then, what is held instead, what the log says."""

from __future__ import annotations

import asyncio
import gc
import logging
from typing import Any

import pytest

import fusee
from fusee import Context, WorkflowFailed, workflow
from fusee.record.kinds import Completed
from tests.support.aio import in_loop
from tests.support.prefixes import Ledger, crash_at_every_point
from tests.support.steps import Held
from tests.support.worlds import HeldLog, opened

held = Held()
ledger = Ledger()


async def work(name: str, rounds: int = 0) -> str:
    ledger.note()
    for _ in range(rounds):
        await asyncio.sleep(0)
    return name


@workflow
async def forgets_steps(ctx: Context) -> str:
    for i in range(3):
        ctx.step(work, f"{i}", 9 - 3 * i)
    ctx.sleep("1h")
    ctx.wait_for("nothing")
    return "done"


async def drive_forgets(engine: fusee.Engine) -> Any:
    return await (await engine.options(request_id="r").start(forgets_steps, "w")).result()


@in_loop
async def test_a_run_that_returned_waits_for_its_steps_live_and_after_any_crash() -> None:
    ledger.keys.clear()
    story = await crash_at_every_point([forgets_steps], drive_forgets, ledger)
    assert story.result == "done"
    async with opened(forgets_steps, log=story.log) as again:
        journal = await again.engine.get(forgets_steps, "w").journal()
        assert [(e.kind, e.outcome) for e in journal] == [
            ("step", '"0"'), ("step", '"1"'), ("step", '"2"'), ("sleep", None),
            ("wait for signal", None),
        ]  # fmt: skip


@workflow
async def abandons(ctx: Context) -> str:
    ctx.step(held, "stuck")
    return "done"


@in_loop
async def test_after_the_grace_a_stuck_step_is_abandoned_and_named_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with opened(abandons) as world:
        run = await world.engine.start(abandons, "w")
        await held.called("stuck")
        world.advance(29)
        await world.settle()
        assert (await run.describe()).status == "running"
        world.advance(2)
        assert await run.result() == "done"
        await world.settle()
        assert held.cancelled == ["stuck"]
        assert not world.records(Completed), "what it still brought is dropped"
    assert "w/1 ended while steps still ran; abandoned: 'Held'" in caplog.text


@workflow
async def fails_beside_steps(ctx: Context) -> None:
    ctx.step(held, "beside")
    queued = ctx.options(read_only=True).step(held, "read beside")
    await ctx.sleep("1s")
    del queued
    raise ValueError("the code failed")


@in_loop
async def test_a_run_that_failed_asks_its_steps_to_stop_and_waits_for_them() -> None:
    held.cancelled.clear()
    async with opened(fails_beside_steps) as world:
        run = await world.engine.start(fails_beside_steps, "w")
        await held.called("beside")
        world.advance(1)
        with pytest.raises(WorkflowFailed, match="ValueError: the code failed") as failed:
            await run.result()
        assert isinstance(failed.value.__cause__, ValueError)
        await world.settle()
        assert sorted(held.cancelled) == ["beside", "read beside"]
        journal = await run.journal()
        assert [e.status for e in journal] == ["failure", "scheduled", "value"]


@in_loop
async def test_a_run_ends_while_its_steps_still_wait_for_room() -> None:
    @workflow
    async def ends_early(ctx: Context) -> str:
        reading = ctx.options(read_only=True)
        for i in range(4):
            reading.step(held, f"look {i}")
        await ctx.sleep("1s")
        return "done"

    async with opened(ends_early, async_steps=1) as world:
        run = await world.engine.start(ends_early, "w")
        await held.called("look 0")
        world.advance(1)
        assert await run.result() == "done"
        await world.settle()
        assert "look 1" not in held.calls


@in_loop
async def test_terminating_a_run_frees_every_step_of_it() -> None:
    @workflow
    async def many(ctx: Context) -> None:
        await asyncio.gather(*(ctx.step(held, f"many {i}") for i in range(4)))

    held.cancelled.clear()
    async with opened(many, async_steps=2) as world:
        await world.engine.start(many, "w")
        await held.called("many 0")
        await world.engine.options(on_conflict="terminate_existing").start(many, "w")
        await world.settle()
        assert sorted(held.cancelled) == ["many 0", "many 1"]
        assert held.calls[-2:] == ["many 0", "many 1"], "the new run has the room"
        assert held.keys[-1].startswith("w/2/")


class Declined(Exception):
    def __init__(self, *, code: int) -> None:
        super().__init__(f"declined {code}")
        self.code = code


async def declines(code: int) -> None:
    raise Declined(code=code)


@workflow
async def uncaught_group(ctx: Context) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(one_step(ctx, 1))
        group.create_task(one_step(ctx, 2))


async def one_step(ctx: Context, code: int) -> None:
    await ctx.step(declines, code)


@in_loop
async def test_an_uncaught_group_fails_the_run_with_the_real_classes_in_it() -> None:
    async with opened(uncaught_group) as world:
        run = await world.engine.start(uncaught_group, "w")
        with pytest.raises(WorkflowFailed) as failed:
            await run.result()
        group = failed.value.__cause__
        assert isinstance(group, ExceptionGroup)
        assert group.subgroup(Declined) is not None
        assert [leaf.code for leaf in group.exceptions] == [1]  # type: ignore[attr-defined]


@workflow
async def returns_what_cannot_be_stored(ctx: Context) -> Any:
    return (i for i in range(3))


@in_loop
async def test_a_result_that_cannot_be_stored_fails_the_run_and_says_so() -> None:
    async with opened(returns_what_cannot_be_stored) as world:
        with pytest.raises(WorkflowFailed, match="result of workflow 'returns_what_cannot_be_"):
            await world.engine.run(returns_what_cannot_be_stored, "w")


@workflow
async def cancels_itself(ctx: Context) -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await ctx.sleep("1s")


@in_loop
async def test_code_that_cancels_itself_fails_and_is_not_called_cancelled() -> None:
    async with opened(cancels_itself) as world:
        run = await world.engine.start(cancels_itself, "w")
        with pytest.raises(WorkflowFailed, match="cancelled its own task"):
            await run.result()
        assert (await run.describe()).status == "failed"


# ---------------------------------------------------------------- hold_on


broken = True


@workflow(hold_on=(NameError, KeyError))
async def has_a_bug(ctx: Context, in_group: bool) -> str:
    first = await ctx.step(work, "first")
    if in_group:
        async with asyncio.TaskGroup() as group:
            group.create_task(maybe_fails())
    else:
        await maybe_fails()
    return first + await ctx.step(work, "second")


async def maybe_fails() -> None:
    if broken:
        raise KeyError("total")


@pytest.mark.parametrize("in_group", [False, True])
def test_hold_on_holds_the_run_instead_of_failing_it_until_the_code_is_mended(
    in_group: bool,
) -> None:
    global broken

    @in_loop
    async def scenario() -> None:
        global broken
        ledger.keys.clear()
        broken = True
        async with opened(has_a_bug) as world:
            run = await world.engine.start(has_a_bug, "w", in_group)
            await world.settle()
            info = await run.describe()
            assert (info.status, info.held) == ("running", "hold_on:KeyError")
            assert "KeyError('total')" in str(info.held_text)
            assert "test_ends.py" in str(info.held_text)
            log = list(world.log)
        async with opened(has_a_bug, log=log) as still_broken:
            await still_broken.settle()
            assert still_broken.run_of("w").held is not None
            assert still_broken.log == log, "being held again appends nothing"
        broken = False
        async with opened(has_a_bug, log=log) as mended:
            assert await mended.engine.get(has_a_bug, "w").result() == "firstsecond"
        assert ledger.keys == ["w/1/1", "w/1/2"], "the first step did not run again"

    scenario()


@workflow
async def hears(ctx: Context, count: int) -> list[str]:
    return [await ctx.wait_for("word") for _ in range(count)]


@workflow(hold_on=(NameError,))
async def says_and_breaks(ctx: Context) -> str:
    await ctx.step(work, "first")
    said = ctx.external("ear").signal("word", "said once")
    if broken:
        raise NameError("bug")
    await said
    return "done"


@in_loop
async def test_what_a_turn_sent_before_it_was_held_is_not_sent() -> None:
    global broken
    broken = True
    async with opened(hears, says_and_breaks) as world:
        ear = await world.engine.start(hears, "ear", 2)
        await world.engine.start(says_and_breaks, "mouth")
        await world.settle()
        assert world.run_of("mouth").held is not None
        assert (await ear.describe()).unread_signals == {}
        await ear.signal("word", "from outside")
        log = list(world.log)
    broken = False
    async with opened(hears, says_and_breaks, log=log) as mended:
        assert await mended.engine.get(says_and_breaks, "mouth").result() == "done"
        assert await mended.engine.get(hears, "ear").result() == ["from outside", "said once"]


def test_hold_on_takes_exception_classes_only() -> None:
    for bad in (KeyError, ("KeyError",), [KeyError]):
        with pytest.raises(TypeError, match="hold_on="):
            workflow(hold_on=bad)(has_a_bug.fn)  # type: ignore[arg-type]


# ---------------------------------------------------------------- the log of the code


@workflow
async def talks(ctx: Context) -> str:
    ctx.log.info("before %s", "the step")
    await ctx.step(work, "x")
    ctx.log.warning("after the step")
    return "done"


@in_loop
async def test_log_lines_appear_once_and_when_what_they_tell_is_durable(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "fusee.workflow")
    disk = HeldLog()
    async with opened(talks, storage=disk) as world:
        start = asyncio.create_task(world.engine.start(talks, "w"))
        await world.settle()
        assert not caplog.messages
        disk.release()
        run = await start
        await world.settle()
        assert caplog.messages == ["w/1 before the step"]
        disk.release()
        assert await run.result() == "done"
        assert caplog.messages == ["w/1 before the step", "w/1 after the step"]
        log = list(world.log)
    caplog.clear()
    async with opened(talks, log=log[:-1]) as again:
        await again.engine.get(talks, "w").result()
    assert caplog.messages == ["w/1 after the step"], "the turn that was lost tells it again"
    assert caplog.records[0].levelno == logging.WARNING


@in_loop
async def test_lines_of_a_first_turn_that_a_signal_preceded_are_not_lost(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "fusee.workflow")
    async with opened(log=[]) as empty:
        del empty
    async with opened(talks) as world:
        world.core.draining = True  # accepts, and runs no turn
        start = asyncio.create_task(world.engine.start(talks, "w"))
        await asyncio.sleep(0)
        signal = asyncio.create_task(world.engine.get(talks, "w").signal("x", 1))
        await asyncio.sleep(0)
        await asyncio.gather(start, signal, return_exceptions=True)
        log = list(world.log)
    assert len(log) == 2
    async with opened(talks, log=log) as world:
        await world.engine.get(talks, "w").result()
    assert caplog.messages == ["w/1 before the step", "w/1 after the step"]


@workflow
async def drops_a_failing_task(ctx: Context) -> str:
    async def fails() -> None:
        raise LookupError("nobody awaits this")

    asyncio.get_running_loop().call_soon(lambda: 1 / 0)
    asyncio.create_task(fails())  # noqa: RUF006 - that it is dropped is the point
    await ctx.step(work, "x")
    return "done"


@in_loop
async def test_errors_nobody_awaits_are_told_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async with opened(drops_a_failing_task) as world:
        await world.engine.run(drops_a_failing_task, "w")
        gc.collect()
        log = list(world.log)
    assert "w/1 Exception in callback" in caplog.text
    assert "ZeroDivisionError" in caplog.text
    assert "LookupError: nobody awaits this" in caplog.text
    caplog.clear()
    async with opened(drops_a_failing_task, log=log[:-1]) as again:
        await again.engine.get(drops_a_failing_task, "w").result()
    assert "ZeroDivisionError" not in caplog.text, "replay is mute"


@in_loop
async def test_a_failure_whose_class_is_not_known_here_is_named_all_the_same() -> None:
    @workflow
    async def fails(ctx: Context) -> None:
        class Overdrawn(Exception):
            pass

        raise Overdrawn("by 3 EUR")

    async with opened(fails) as world:
        with pytest.raises(WorkflowFailed, match=r"failed: .*Overdrawn: by 3 EUR"):
            await world.engine.run(fails, "w")
