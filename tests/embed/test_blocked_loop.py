"""Workflow code that keeps the application's loop: told while it does, held when it goes on so."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import pytest

from fusee import Context, Engine, RunHeld, Signal, workflow
from fusee.io.surroundings import Surroundings
from tests.support.aio import in_loop
from tests.support.worlds import StillClock, World, opened

go: Signal[None] = Signal[None]("go")


class Onlooker:
    """Stands for the thread beside the loop: it looks when the test says so."""

    def __init__(self) -> None:
        self.clock = StillClock()
        self.surroundings = Surroundings(clock=self.clock, look_aside=self)
        self.is_closed = False

    def __call__(self, look: Callable[[], None], period_s: float, name: str) -> Onlooker:
        self.look = look
        self.period_s = period_s
        return self

    def close(self) -> None:
        self.is_closed = True

    def look_on(self, seconds: float) -> None:
        """Let time pass between two looks, while whoever calls this does not return."""
        for passing_s in (seconds, 0.0):
            looking = threading.Thread(target=self.look)
            looking.start()
            looking.join()
            self.clock.now_us += round(passing_s * 1e6)


onlooker = Onlooker()


@workflow
async def blocks(ctx: Context, turns: int, seconds: float) -> str:
    for _ in range(turns):
        await ctx.wait_for(go)
        onlooker.look_on(seconds)
    await ctx.wait_for(go)
    return "done"


@pytest.fixture(autouse=True)
def _fresh() -> None:
    global onlooker
    onlooker = Onlooker()


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if "blocked the event loop" in r.getMessage()]


async def go_on(world: World, workflow_id: str, times: int) -> None:
    """Give a run so many turns."""
    for _ in range(times):
        await world.engine.get("blocks", workflow_id).signal(go, None)
        await world.settle()


class Bell(logging.Handler):
    """Rings when a warning about a blocked loop is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.rang = threading.Event()
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        if "blocked the event loop" in record.getMessage():
            self.text = record.getMessage()
            self.rang.set()


bell = Bell()


@workflow
async def blocks_until_somebody_says_so(ctx: Context) -> bool:
    return bell.rang.wait(30)


@in_loop
async def test_blocked_code_is_told_with_its_stack_while_it_still_blocks() -> None:
    bell.rang.clear()
    logger = logging.getLogger("fusee")
    logger.addHandler(bell)
    try:
        async with Engine.open(
            ":memory:", workflows=[blocks_until_somebody_says_so], blocked_after="20ms"
        ) as engine:
            assert await engine.run(blocks_until_somebody_says_so, "w")
    finally:
        logger.removeHandler(bell)

    first, *stack = bell.text.splitlines()
    assert first.startswith("run w/1 has blocked the event loop for 0.0 s at ")
    assert "test_blocked_loop.py" in first
    assert first.endswith("move what takes long into ctx.step(...)")
    assert "in blocks_until_somebody_says_so" in stack[0]
    assert "return bell.rang.wait(30)" in stack[1]
    assert not any("workflow_loop" in line for line in stack)


@in_loop
async def test_a_turn_is_told_of_once_however_often_somebody_looks(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @workflow
    async def blocks_long(ctx: Context) -> None:
        for _ in range(5):
            onlooker.look_on(3.0)

    async with opened(blocks_long, surroundings=onlooker.surroundings) as world:
        await world.engine.run(blocks_long, "w")

        assert len(warnings_in(caplog)) == 1
        assert onlooker.period_s <= 0.5
    assert onlooker.is_closed


@in_loop
async def test_turns_that_end_in_time_are_not_told_of_however_many_follow_each_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with opened(blocks, surroundings=onlooker.surroundings) as world:
        await world.engine.start(blocks, "w", 10, 1.9)
        await go_on(world, "w", 10)
        onlooker.look_on(100.0)  # Nobody's turn.

        assert warnings_in(caplog) == []
        assert world.held("w") is None


@in_loop
async def test_a_run_that_blocks_the_loop_in_five_turns_is_held_and_no_other_is(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with opened(blocks, surroundings=onlooker.surroundings) as world:
        for workflow_id in ("w", "other"):
            await world.engine.start(blocks, workflow_id, 6, 2.1)
            await go_on(world, workflow_id, 4)
        assert world.held("w") is None

        await go_on(world, "w", 1)

        held = world.held("w")
        assert held is not None
        assert held.reason == "blocked-loop"
        first, *rest = held.text.splitlines()
        assert first.startswith(
            "the code blocked the event loop in 5 of its turns, the last time at "
        )
        assert "test_blocked_loop.py" in first
        assert "ctx.step(...)" in rest[-1]
        info = await world.engine.get(blocks, "w").describe()
        assert (info.held, info.held_text) == ("blocked-loop", held.text)
        with pytest.raises(RunHeld):
            await world.engine.get(blocks, "w").query("anything")
        assert world.held("other") is None
        assert len(warnings_in(caplog)) == 9


@in_loop
async def test_a_run_held_for_blocking_goes_on_with_all_it_did_under_code_that_does_not() -> None:
    async with opened(blocks, surroundings=onlooker.surroundings) as world:
        await world.engine.start(blocks, "w", 5, 2.1)
        await go_on(world, "w", 6)
        assert world.held("w") is not None
        log = world.log

    @workflow(name="blocks")
    async def mended(ctx: Context, turns: int, seconds: float) -> str:
        for _ in range(turns + 1):
            await ctx.wait_for(go)
        return "mended"

    async with opened(mended, log=log) as world:
        assert await world.engine.get(mended, "w").result(timeout=30) == "mended"


@in_loop
async def test_nobody_looks_where_no_limit_is_meant() -> None:
    async with Engine.open(":memory:", workflows=[blocks], blocked_after=None):
        assert "fusee-watchdog" not in [thread.name for thread in threading.enumerate()]


@pytest.mark.parametrize("limit", [0, -1, "1ms", float("nan"), float("inf"), "soon"])
def test_a_limit_that_is_none_is_refused_at_the_call(limit: float) -> None:
    with pytest.raises(ValueError):
        Engine.open(":memory:", workflows=[blocks], blocked_after=limit)
