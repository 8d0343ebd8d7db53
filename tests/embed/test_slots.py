"""The engine's own bounds of running functions: whatever ends a step, its slot is free again."""

from __future__ import annotations

import asyncio
import random
import threading
from contextlib import suppress

import pytest

import fusee
from fusee import Context, Query, ReadOnlyViolation, Signal, workflow
from tests.support.aio import in_loop, spin
from tests.support.worlds import World, opened

ASYNC_STEPS, SYNC_THREADS, RUNS = 2, 1, 24
go: Signal[None] = Signal[None]("go")
wake: Query[None, None] = Query[None, None]("wake")
FATES = ("returns", "raises", "cancels itself", "hangs", "is deaf", "in a thread")
ENDS = ("nothing", "cancel", "replace", "spoil")
release = threading.Event()


async def function(fate: str) -> str:
    match fate:
        case "returns":
            await asyncio.sleep(0)
        case "raises":
            raise ValueError(fate)
        case "cancels itself":
            raise asyncio.CancelledError
        case "hangs":
            await asyncio.sleep(0.02)
        case _:  # It takes its time to heed a cancellation.
            try:
                await asyncio.sleep(0.02)
            except asyncio.CancelledError:
                await asyncio.sleep(0.01)
                return "late"
    return fate


def in_thread() -> str:
    release.wait(0.01)
    return "in a thread"


@workflow
async def takes_a_slot(ctx: Context, fate: str, timeout_ms: int) -> str:
    event = asyncio.Event()
    ctx.on_query(wake)(event.set)
    stepping = ctx.options(timeout=timeout_ms / 1000) if timeout_ms else ctx
    if fate == "in a thread":
        op = stepping.step(in_thread)
    else:
        op = stepping.step(function, fate)

    async def cancels() -> None:
        await ctx.wait_for(go)
        op.cancel()

    cancelling = asyncio.create_task(cancels())
    waiting = asyncio.create_task(event.wait())
    try:
        return await op
    except (Exception, asyncio.CancelledError) as error:
        return type(error).__name__
    finally:
        cancelling.cancel()
        waiting.cancel()


async def comes(world: World, name: str, end: str) -> None:
    """Something happens to a run, wherever its step is."""
    run = world.engine.get(takes_a_slot, name)
    try:
        match end:
            case "cancel":
                await run.signal(go, None)
            case "replace":
                replacing = world.engine.options(on_conflict="terminate_existing", reuse="allow")
                await replacing.start(takes_a_slot, name, "returns", 0)
            case "spoil":
                # Of an open run: its code is unloaded and comes back by replay.
                with suppress(ReadOnlyViolation):
                    await run.query(wake)
            case _:
                pass
    except fusee.WorkflowFinished:
        pass  # It was faster.


@pytest.mark.parametrize("seed", range(12))
def test_when_all_is_over_every_slot_is_free_and_steps_that_wait_have_run(seed: int) -> None:
    chance = random.Random(seed)

    @in_loop
    async def claim() -> None:
        async with opened(
            takes_a_slot, async_steps=ASYNC_STEPS, sync_threads=SYNC_THREADS
        ) as world:
            runner = world.engine.life.runner
            for n in range(RUNS):
                name = f"w{n}"
                fate, timeout_ms = chance.choice(FATES), chance.choice((0, 0, 5))
                await world.engine.start(takes_a_slot, name, fate, timeout_ms)
                await spin(chance.randint(0, 3))
                await comes(world, f"w{chance.randint(0, n)}", chance.choice(ENDS))
                assert runner._async_running <= ASYNC_STEPS

            for n in range(RUNS):
                await world.engine.get(takes_a_slot, f"w{n}").result(timeout=20)
            await runner.idle(20)
            assert (runner._async_running, runner.running, runner.has_waiting) == (0, [], False)
            assert runner._threads.unfinished == 0

            async with asyncio.timeout(20):
                for fate in ("returns", "in a thread"):
                    last = world.engine.run(takes_a_slot, f"last {fate}", fate, 0)
                    assert await last == fate

    claim()
