"""A step that was cancelled and ended all the same has one outcome, whatever happens between."""

from __future__ import annotations

import asyncio

from fusee import Context, workflow
from fusee.engine.turns import run_turns
from fusee.record.kinds import Completed, OpKind, Outcome, Scheduled
from tests.support.aio import in_loop
from tests.support.worlds import opened


class Stubborn:
    """A step that does not stop when it is asked to, and ends when the test says so."""

    def __init__(self) -> None:
        self.may_end = asyncio.Event()

    async def __call__(self) -> str:
        while not self.may_end.is_set():
            try:
                await self.may_end.wait()
            except asyncio.CancelledError:
                continue
        return "ended"


@in_loop
async def test_an_outcome_that_is_recorded_and_not_seen_is_the_only_one_of_its_step() -> None:
    stubborn = Stubborn()

    @workflow
    async def gives_up(ctx: Context) -> str:
        try:
            async with asyncio.timeout(10):
                await ctx.step(stubborn)
        except TimeoutError:
            await ctx.sleep("1h")
        return "gave up"

    async with opened(gives_up) as world:
        await world.engine.start(gives_up, "w")
        await world.settle()
        world.advance(10)
        await world.settle()
        stubborn.may_end.set()  # Closing waits for it, and records what it brought.
    async with opened(gives_up, log=world.log) as again:
        run = again.run_of("w")
        again.core.reload(run)
        while run.program is None or run.program.machine.replaying:
            assert run_turns(again.core, 1) == 1
        again.core.reload(run)  # Between the turn in which it is cancelled again and its next one.
        await again.settle()
        steps = {r.position for r in again.records(Scheduled) if r.op == OpKind.STEP}
        ends = [record for record in again.records(Completed) if record.position in steps]

        assert [(end.outcome, end.payload) for end in ends] == [(Outcome.VALUE, b'"ended"')]
        assert again.held("w") is None
        again.advance(3_600)
        assert await again.finish(again.engine.get(gives_up, "w").result()) == "gave up"
