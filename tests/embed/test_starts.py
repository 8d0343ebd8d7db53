"""Starting: request ids, ID policies, ordinals, and what is refused before anything is appended."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import fusee
from fusee import (
    AlreadyFinished,
    AlreadyRunning,
    Context,
    Engine,
    Signal,
    UnknownWorkflow,
    WorkflowFailed,
    WorkflowTerminated,
    workflow,
)
from fusee.record.kinds import Closed, Started, Status
from tests.support.aio import in_loop
from tests.support.worlds import HeldLog, World, opened

go: Signal[str] = Signal[str]("go")


@workflow
async def waits(ctx: Context, x: int = 0) -> str:
    word = await ctx.wait_for(go)
    if word == "fail":
        raise ValueError(x)
    return f"{word} {x}"


@workflow
async def other(ctx: Context) -> str:
    return await ctx.wait_for(go)


async def run_with_status(world: World, status: str) -> None:
    """Leave a run of the ID "w" in some state."""
    if status == "never used":
        return
    run = await world.engine.start(waits, "w", 1)
    if status == "running":
        return
    if status == "terminated":
        await world.engine.options(on_conflict="terminate_existing").start(waits, "w", 1)
        status = "completed"  # the newest one; the first was terminated
    await run_of(world).signal(go, "fail" if status == "failed" else "ok")
    if status == "failed":
        with pytest.raises(WorkflowFailed):
            await run_of(world).result()
    else:
        await run_of(world).result()
    del run


def run_of(world: World) -> Any:
    return world.engine.get(waits, "w")


START, RUNNING, FINISHED, FOUND, REPLACED = "start", AlreadyRunning, AlreadyFinished, "found", "new"

TABLE = [
    # state of the ID, on_conflict, reuse, what follows
    ("never used", "fail", "allow_failed_only", START),
    ("never used", "use_existing", "reject", START),
    ("never used", "terminate_existing", "reject", START),
    ("running", "fail", "allow", RUNNING),
    ("running", "use_existing", "reject", FOUND),
    ("running", "terminate_existing", "reject", REPLACED),
    ("completed", "fail", "allow_failed_only", FINISHED),
    ("completed", "use_existing", "allow_failed_only", FINISHED),
    ("completed", "terminate_existing", "allow_failed_only", FINISHED),
    ("completed", "fail", "allow", REPLACED),
    ("completed", "use_existing", "allow", REPLACED),
    ("completed", "fail", "reject", FINISHED),
    ("failed", "fail", "allow_failed_only", REPLACED),
    ("failed", "use_existing", "allow_failed_only", REPLACED),
    ("failed", "terminate_existing", "allow", REPLACED),
    ("failed", "fail", "reject", FINISHED),
]


@pytest.mark.parametrize("reopened", [False, True], ids=["live", "reopened"])
@pytest.mark.parametrize(("state", "on_conflict", "reuse", "follows"), TABLE)
def test_the_table_of_id_policies(
    state: str, on_conflict: Any, reuse: Any, follows: Any, reopened: bool
) -> None:
    async def check(world: World) -> None:
        engine = world.engine.options(on_conflict=on_conflict, reuse=reuse)
        before = len(world.log)
        if isinstance(follows, type):
            with pytest.raises(follows) as refused:
                await engine.start(waits, "w", 2)
            assert (refused.value.run.id, refused.value.run.ordinal) == ("w", 1)
            assert len(world.log) == before
            return
        run = await engine.start(waits, "w", 2)
        assert run.started_by_me == (follows != FOUND)
        assert run.input_differs == (follows == FOUND)
        assert run.ordinal == (2 if follows == REPLACED else 1)
        await run.signal(go, "done")
        assert await run.result() == ("done 1" if follows == FOUND else "done 2")

    @in_loop
    async def scenario() -> None:
        async with opened(waits) as world:
            await run_with_status(world, state)
            if not reopened:
                await check(world)
                return
            log = list(world.log)
        async with opened(waits, log=log) as again:
            await check(again)

    scenario()


@in_loop
async def test_a_terminated_run_and_its_successor_are_one_atomic_group() -> None:
    async with opened(waits) as world:
        first = await world.engine.start(waits, "w", 1)
        result = asyncio.create_task(first.result())
        before = len(world.log)
        second = await world.engine.options(on_conflict="terminate_existing").start(waits, "w", 2)
        assert (first.ordinal, second.ordinal) == (1, 2)
        assert len(world.log[before]) == 2, "both groups have one ticket"
        with pytest.raises(WorkflowTerminated, match="replaced by a newer start"):
            await result
        assert (await first.describe()).status == "terminated"
        log = list(world.log)
    async with opened(waits, log=log) as again:
        run = again.engine.get(waits, "w")
        assert (await run.describe()).ordinal == 2
        reuse = again.engine.options(reuse="allow_failed_only")
        with pytest.raises(AlreadyRunning):
            await reuse.start(waits, "w", 3)


@in_loop
async def test_the_same_request_is_the_same_run_before_any_policy() -> None:
    async with opened(waits) as world:
        engine = world.engine.options(request_id="click-1")
        first, again = await engine.start(waits, "w", 1), await engine.start(waits, "w", 1)
        assert (again.ordinal, again.started_by_me, again.input_differs) == (1, True, False)
        await first.signal(go, "a")
        assert await again.result() == "a 1"
        closed = await engine.start(waits, "w", 1)
        assert await closed.result() == "a 1"
        other_input = await engine.start(waits, "w", 9)
        assert other_input.input_differs
        assert len(world.records(Started)) == 1
        log = list(world.log)
    async with opened(waits, log=log) as later:
        run = await later.engine.options(request_id="click-1").start(waits, "w", 1)
        assert await run.result() == "a 1"


@in_loop
async def test_a_start_repeated_by_its_client_while_the_first_is_on_its_way_makes_one_run() -> None:
    disk = HeldLog()
    async with opened(waits, storage=disk) as world:
        engine = world.engine.options(request_id="click-1")
        starts = [asyncio.create_task(engine.start(waits, "w", 1)) for _ in range(3)]
        refused = asyncio.create_task(world.engine.start(waits, "w", 1))
        await world.settle()
        assert not any(task.done() for task in [*starts, refused])
        disk.release()
        assert {(await task).ordinal for task in starts} == {1}
        with pytest.raises(AlreadyRunning):
            await refused
        assert len(world.records(Started)) == 1


@in_loop
async def test_use_existing_on_a_run_of_another_workflow_is_refused() -> None:
    async with opened(waits, other) as world:
        await world.engine.start(waits, "w", 1)
        with pytest.raises(AlreadyRunning, match="runs 'waits', not 'other'"):
            await world.engine.options(on_conflict="use_existing").start(other, "w")


@in_loop
async def test_ordinals_rise_for_ever_and_old_runs_stay_readable() -> None:
    async with opened(waits) as world:
        engine = world.engine.options(reuse="allow")
        runs = []
        for i in range(1, 5):
            run = await engine.start(waits, "w", i)
            await run.signal(go, "x")
            assert await run.result() == f"x {i}"
            runs.append(run)
        assert [run.ordinal for run in runs] == [1, 2, 3, 4]
        assert [await run.result() for run in runs] == ["x 1", "x 2", "x 3", "x 4"]
        log = list(world.log)
    async with opened(waits, log=log) as again:
        fifth = await again.engine.options(reuse="allow").start(waits, "w", 5)
        assert fifth.ordinal == 5


# ---------------------------------------------------------------- refused before anything


BAD_IDS = ["", " ", "\t\n", "a\0b", "x" * 513, "\ud800", "é" * 257]


@pytest.mark.parametrize("bad", BAD_IDS, ids=ascii)
def test_an_id_that_cannot_name_a_run_is_refused_before_anything_is_appended(bad: str) -> None:
    @workflow
    async def sends(ctx: Context, target: str) -> str:
        try:
            await ctx.external(target).signal(go, "x")
        except ValueError:
            return "refused"
        return "sent"

    @in_loop
    async def scenario() -> None:
        async with opened(waits, sends) as world:
            for call in (
                lambda: world.engine.start(waits, bad, 1),
                lambda: world.engine.run(waits, bad, 1),
            ):
                with pytest.raises(ValueError, match="workflow ID"):
                    await call()
            with pytest.raises(ValueError, match="workflow ID"):
                world.engine.get(waits, bad)
            with pytest.raises(ValueError, match="request_id"):
                world.engine.options(request_id=bad)
            assert world.log == []
            if bad != "\ud800":
                assert await world.engine.run(sends, "sender", bad) == "refused"
                assert len(world.records(Started)) == 1

    scenario()


@pytest.mark.parametrize("good", ["a/b/3", "x" * 512, "é" * 256, " padded ", "ünïcode/\u2603"])
def test_every_other_text_is_an_id(good: str) -> None:
    @in_loop
    async def scenario() -> None:
        async with opened(waits) as world:
            run = await world.engine.start(waits, good, 1)
            await run.signal(go, "x", signal_id="s")
            assert await run.result() == "x 1"

    scenario()


@in_loop
async def test_arguments_that_do_not_fit_are_refused_before_anything_is_appended() -> None:
    async with opened(waits) as world:
        for args in ((1, 2), ("one",), (1.5,), ([],)):
            with pytest.raises(fusee.PayloadMismatch):
                await world.engine.start(waits, "w", *args)
        with pytest.raises(fusee.PayloadMismatch):
            await world.engine.start(waits, "w", y=1)  # type: ignore[call-arg]
        assert world.log == []


@in_loop
async def test_unknown_workflows_are_refused_and_the_known_ones_named() -> None:
    async with opened(waits) as world:
        with pytest.raises(UnknownWorkflow, match="'other' is registered .registered: waits."):
            await world.engine.start(other, "w")
        with pytest.raises(UnknownWorkflow, match="waits@9 is not registered .registered: 1."):
            await world.engine.options(version="9").start(waits, "w")
        with pytest.raises(TypeError, match=r"decorated with @fusee\.workflow"):
            await world.engine.start(test_unknown_workflows_are_refused, "w")  # type: ignore[arg-type]
        assert world.log == []


def test_unknown_workflows_are_refused() -> None:
    """Stands for a function that is no workflow."""


@in_loop
async def test_options_are_checked_where_they_are_written() -> None:
    engine = Engine.open(":memory:", workflows=[waits])
    with pytest.raises(ValueError, match="on_conflict='maybe'"):
        engine.options(on_conflict="maybe")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="reuse='never'"):
        engine.options(reuse="never")  # type: ignore[arg-type]


# ---------------------------------------------------------------- versions


@workflow(name="shop", version="1")
async def shop1(ctx: Context) -> str:
    return "one " + await ctx.wait_for(go)


@workflow(name="shop", version="2")
async def shop2(ctx: Context) -> str:
    return "two " + await ctx.wait_for(go)


@in_loop
async def test_a_run_stays_on_the_version_it_started_with() -> None:
    async with opened(shop1) as world:
        await world.engine.start(shop1, "old")
        log = list(world.log)
    async with opened(shop1, shop2, log=log) as world:
        await world.engine.start(shop2, "new")
        await world.engine.options(version="1").start(shop2, "by option")
        for workflow_id in ("old", "new", "by option"):
            await world.engine.get(shop2, workflow_id).signal(go, "x")
        results = [await world.engine.get(shop2, i).result() for i in ("old", "new", "by option")]
    assert results == ["one x", "two x", "one x"]


def test_two_workflows_of_one_name_and_version_are_refused() -> None:
    @workflow(name="shop", version="2")
    async def another(ctx: Context) -> str:
        return ""

    with pytest.raises(ValueError, match="two workflows are registered as shop@2"):
        Engine.open(":memory:", workflows=[shop2, another])


@in_loop
async def test_a_run_without_its_code_is_held_and_goes_on_when_the_code_is_back() -> None:
    async with opened(shop1) as world:
        await world.engine.start(shop1, "w")
        log = list(world.log)
    async with opened(shop2, log=log) as world:
        await world.settle()
        run = world.engine.get("shop", "w")
        info = await run.describe()
        assert (info.status, info.held) == ("running", "no-code")
        assert "shop@1, which is not registered (registered versions: 2)" in str(info.held_text)
        await run.signal(go, "kept", signal_id="s")
        with pytest.raises(fusee.RunHeld) as held:
            await run.query("anything")
        assert held.value.reason == "no-code"
        log = list(world.log)
    async with opened(shop1, shop2, log=log) as world:
        assert await world.engine.get(shop1, "w").result() == "one kept"


@in_loop
async def test_get_by_name_serves_for_workflows_that_are_not_registered() -> None:
    async with opened(waits) as world:
        run = await world.engine.start(waits, "w", 3)
        await run.signal(go, "x")
        await run.result()
        log = list(world.log)
    async with opened(log=log) as world:
        assert await world.engine.get("waits", "w").result() == "x 3"
        with pytest.raises(fusee.RunNotFound):
            await world.engine.get("waits", "nobody").result()
        with pytest.raises(fusee.RunNotFound):
            await world.engine.get("waits", "nobody").describe()


@in_loop
async def test_a_run_recovered_many_times_keeps_its_ordinal_and_adds_no_record() -> None:
    async with opened(waits) as world:
        await world.engine.start(waits, "w", 1)
        log = list(world.log)
    for _ in range(10):
        async with opened(waits, log=log) as world:
            await world.settle()
            assert (await world.engine.get(waits, "w").describe()).ordinal == 1
            assert world.log == log
    async with opened(waits, log=log) as world:
        await world.engine.get(waits, "w").signal(go, "x")
        assert await world.engine.get(waits, "w").result() == "x 1"
        (closed,) = world.records(Closed)
        assert closed.status == Status.COMPLETED


@in_loop
async def test_cancelling_a_wait_for_a_result_never_touches_the_run() -> None:
    async with opened(waits) as world:
        run = await world.engine.start(waits, "w", 1)
        waiting = asyncio.create_task(run.result())
        await world.settle()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        with pytest.raises(TimeoutError, match="did not end within 0.001 s; it goes on"):
            await run.result(timeout=0.001)
        await run.signal(go, "x")
        assert await run.result() == "x 1"
