"""Lists of runs: a row says the same before and after its run has left memory."""

from __future__ import annotations

import asyncio

from fusee import Context, workflow
from fusee.engine.listing import Wanted
from tests.support.aio import in_loop
from tests.support.worlds import HeldLog, opened


@workflow
async def returns(ctx: Context) -> None:
    """Ends in its first turn."""


@in_loop
async def test_a_run_whose_end_is_not_yet_durable_is_listed_as_it_will_be() -> None:
    storage = HeldLog()
    async with opened(returns, storage=storage) as world:
        start = asyncio.ensure_future(world.engine.start(returns, "w"))
        await world.settle()
        asked = asyncio.ensure_future(world.engine.life.client.runs(Wanted()))
        await world.settle()
        assert not asked.done()

        while not (start.done() and asked.done()):
            await world.settle()
            if storage.held:
                storage.release()

        again = await world.engine.life.client.runs(Wanted())
        assert await asked == again
        assert again[0].closed_at is not None
