"""A step ends while the engine closes: its result is recorded, and used by the next process."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import fusee
from fusee import Context

if TYPE_CHECKING:
    from sim.scenarios.apps import Client, Service

from sim.scenarios.play import Play


class Leaving:
    """The application closes the engine while one step runs, or in the moment in which it ends."""

    def __init__(self, *, ends_before: bool) -> None:
        self.ends_before = ends_before

    def workflows(self, service: Service) -> list:
        async def work() -> str:
            service.call()
            self.client.close()
            if not self.ends_before:
                await asyncio.sleep(0.01)
            return "done"

        @fusee.workflow
        async def leaving(ctx: Context) -> str:
            return await ctx.step(work)

        self.leaving = leaving
        return [leaving]

    async def drive(self, client: Client) -> None:
        self.client = client
        await client.start(self.leaving, "one")
        client.expect(await client.result("one"), "done", "the result")


def play(play: Play) -> None:
    for ends_before in (True, False):
        if not ends_before:
            other = Play()
            other.app(Leaving(ends_before=False))
            other.live()
            other.finish()
            other.check()
            continue
        play.app(Leaving(ends_before=True))
        play.live()
        play.finish()
