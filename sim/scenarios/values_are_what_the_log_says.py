"""The code sees what a replay will see: the value that the recorded bytes stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fusee
from fusee import Context

if TYPE_CHECKING:
    from sim.scenarios.apps import Client, Service

from sim.scenarios.play import Play


class Values:
    def workflows(self, service: Service) -> list:
        async def price() -> float:
            service.call()
            return 1

        async def note(kind: str) -> str:
            return service.call(kind=kind)

        @fusee.workflow
        async def values(ctx: Context) -> str:
            value = await ctx.step(price)
            return await ctx.step(note, type(value).__name__)

        self.values = values
        return [values]

    async def drive(self, client: Client) -> None:
        await client.start(self.values, "one")
        await client.result("one")


def play(play: Play) -> None:
    play.app(Values())
    play.at(record="Scheduled", position=2).crash("landed")
    play.live()
    play.finish()
