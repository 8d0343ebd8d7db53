"""A run that ends while one of its timers is armed leaves none behind."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import fusee
from fusee import Context

if TYPE_CHECKING:
    from sim.scenarios.apps import Client, Service

from sim.scenarios.play import Play


class Hasty:
    def workflows(self, service: Service) -> list:
        async def work() -> str:
            return service.call()

        @fusee.workflow
        async def hasty(ctx: Context) -> str:
            ctx.sleep(3600)
            return await ctx.step(work)

        self.hasty = hasty
        return [hasty]

    async def drive(self, client: Client) -> None:
        await client.start(self.hasty, "one")
        await client.result("one")
        await asyncio.sleep(1)  # Long enough to be idle for a moment.


def play(play: Play) -> None:
    play.app(Hasty())
    play.finish()
