"""Crashes that other engines got wrong, one test a report."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import Any

import pytest

import fusee
from fusee import Context, Engine, RetriesExhausted, Retry, workflow
from fusee.base.errors import WorkflowFailed
from fusee.base.ids import Ticket
from fusee.io.directory import Directory
from fusee.sdk.workflow import Workflow
from tests.support.aio import until
from tests.support.crash_device import CrashDevice, Death
from tests.support.engines import engine_of, formatted
from tests.support.facts import facts_of
from tests.support.ledger import ExternalService, Ledger
from tests.support.nodes import WatchedNode, remade
from tests.support.shop import Shop
from tests.support.world import World


class Stubborn:
    """A step that always fails, and may fail five times."""

    def workflows(self, service: ExternalService) -> list[Workflow[Any, Any]]:
        async def fail(order: str) -> None:
            raise OSError(service.call(order=order))

        @workflow
        async def stubborn(ctx: Context) -> str:
            retry = Retry(5, initial=0.001, factor=1.5, jitter=0)
            try:
                await ctx.options(retry=retry).step(fail, "anna")
            except RetriesExhausted as error:
                return f"{error.attempts} attempts"
            return "it worked"

        self.stubborn = stubborn
        return [stubborn]

    async def drive(self, engine: Engine, ledger: Ledger) -> None:
        run = await engine.options(request_id="once").start(self.stubborn, "anna")
        ledger.on_started("anna", 1)
        ledger.on_result("anna/1", await run.result())


def test_a_crash_after_every_attempt_resets_neither_count_nor_delay():
    """golemcloud/golem#1798: the retry counter was lost across recovery."""
    world = World(Stubborn())
    opening = 8  # Calls that an open makes for itself: two updates of the superblock.
    made = 2  # And once, the superblock and the first segment, then the start.
    crashes = 0
    while not world.live(Death(opening + 1 + (made + 1 if crashes == 0 else 0), "landed")):
        crashes += 1
        assert crashes < 60, "every life gets further, unless a seal was its only write"
    world.finish()
    assert world.ledger.results == {"anna/1": "5 attempts"}
    assert crashes >= 4
    calls = world.service.calls_of("anna/1/1")
    assert {call.attempt for call in calls} == {1, 2, 3, 4, 5}
    assert len(calls) <= 5 + crashes


def test_a_result_that_arrives_while_closing_is_kept_and_its_function_never_runs_again():
    """golemcloud/golem#1571: durable, but not yet seen by the code when the process ended."""
    calls: list[int] = []
    may_end = asyncio.Event()

    async def slow() -> str:
        calls.append(1)
        await may_end.wait()
        return "kept"

    @workflow
    async def waits(ctx: Context) -> str:
        return await ctx.step(slow)

    async def main() -> None:
        device = formatted(CrashDevice())
        async with engine_of(device, [waits]) as engine:
            await engine.start(waits, "one")
            await until(lambda: bool(calls))
            closing = asyncio.ensure_future(engine.close())
            await asyncio.sleep(0)
            may_end.set()
            await closing
        assert facts_of(device).completed["one/1/1"].payload == b'"kept"'
        assert not facts_of(device).completed["one/1/1"].delivered
        async with engine_of(device.survivor(), [waits]) as engine:
            assert await engine.get(waits, "one").result() == "kept"
        assert calls == [1]

    asyncio.run(main())


class CollectingNode(WatchedNode):
    """Collects garbage at every event."""

    def appended_group(self, ticket: Ticket, group: bytes) -> None:
        gc.collect()


def test_collecting_garbage_at_every_event_destroys_nothing_that_runs():
    """dbos-inc/dbos-transact-py#710: the collector destroyed running workflow tasks."""
    world = World(Shop(), make_node=lambda node: remade(node, CollectingNode))
    gc.freeze()  # Else each collection looks at everything that other tests have left.
    try:
        world.live(Death(16))
        world.finish()
    finally:
        gc.unfreeze()


def test_tasks_that_the_code_drops_are_kept_until_they_end():
    @workflow
    async def drops(ctx: Context) -> list[int]:
        seen: list[int] = []

        async def note(number: int) -> None:
            seen.append(await ctx.step(echo, number))

        for number in range(5):
            asyncio.get_running_loop().create_task(note(number))
        gc.collect()
        await ctx.sleep(0.01)
        while len(seen) < 5:
            await ctx.sleep(0.001)
        return sorted(seen)

    async def echo(number: int) -> int:
        gc.collect()
        return number

    async def main() -> None:
        async with Engine.open(":memory:", workflows=[drops]) as engine:
            assert await engine.run(drops, "one") == [0, 1, 2, 3, 4]

    asyncio.run(main())


class StuckDevice(CrashDevice):
    """A disk that hangs in the system from some call on, until the test lets it go."""

    def __init__(self) -> None:
        super().__init__(flush_ns=500_000)
        self.stuck = threading.Event()
        self.let_go = threading.Event()
        self.hangs = False

    def write(self, file: str, offset: int, data: bytes | memoryview) -> None:
        if self.hangs:
            self.stuck.set()
            self.let_go.wait(30)
        super().write(file, offset, data)


def test_close_returns_while_the_disk_hangs_and_keeps_the_directory_locked(tmp_path):
    @workflow
    async def short(ctx: Context) -> str:
        return "done"

    async def main() -> None:
        device = StuckDevice()
        formatted(device)
        directory = Directory.acquire(tmp_path / "log")
        async with engine_of(device, [short], directory=directory, drain_s=0.1) as engine:
            device.hangs = True
            start = asyncio.ensure_future(engine.start(short, "one"))
            await asyncio.to_thread(device.stuck.wait, 30)
            async with asyncio.timeout(20):
                await engine.close()
            with pytest.raises(fusee.EngineStopped):
                await start
        assert directory.is_held, "the write may still land"
        device.let_go.set()
        directory.withheld_because = ""
        directory.release()

    asyncio.run(main())


def test_a_failed_run_stays_failed_over_crashes():
    world = World(Shop())
    world.live()
    failed = world.ledger.results["doomed/1"]
    world.finish()
    assert world.ledger.results["doomed/1"] == failed
    assert WorkflowFailed.__name__ not in failed
