"""A step that was given up ends all the same, unseen: its run records no second outcome."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import fusee
from fusee import Context
from fusee.engine.turns import run_turns

if TYPE_CHECKING:
    from sim.scenarios.apps import Client, Service

from sim.scenarios.play import Play


class GivenUp:
    """A step goes on when it is cancelled, and ends while its run is not in memory."""

    def __init__(self) -> None:
        self.is_cancelled = False

    def workflows(self, service: Service) -> list:
        async def stubborn() -> str:
            service.call()
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:
                self.is_cancelled = True
                await asyncio.sleep(0.5)
            return "ended"

        @fusee.workflow
        async def gives_up(ctx: Context) -> str:
            try:
                async with asyncio.timeout(1):
                    return await ctx.step(stubborn)
            except TimeoutError:
                await ctx.sleep(60)
            return "gave up"

        self.gives_up = gives_up
        return [gives_up]

    async def drive(self, client: Client) -> None:
        await client.start(self.gives_up, "one")
        core, loop = client.engine.life.core, asyncio.get_running_loop()
        run = core.table.latest("one")
        await client.until(lambda: self.is_cancelled)
        loop.call_soon(core.unload, run)
        await client.until(lambda: not run.in_flight)
        loop.call_soon(_unload_in_between, core, run)
        client.expect(await client.result("one"), "gave up", "the result")


def _unload_in_between(core: Any, run: Any) -> None:
    """Unload the run between the turn that cancels its step again and its next one."""
    core.reload(run)
    while run.program is None or run.program.machine.replaying:
        run_turns(core, 1)
    core.reload(run)


def play(play: Play) -> None:
    play.app(GivenUp())
    play.finish()
