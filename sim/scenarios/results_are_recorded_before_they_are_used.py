"""What a call was made from is in the log with that call: a crash finds both or neither."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fusee
from fusee import Context

if TYPE_CHECKING:
    from sim.scenarios.apps import Client, Service

from sim.scenarios.play import Play


class Chain:
    def workflows(self, service: Service) -> list:
        async def link(before: str) -> str:
            return service.call(before=before)

        @fusee.workflow
        async def chain(ctx: Context) -> str:
            value = "start"
            for _ in range(3):
                value = await ctx.step(link, value)
            return value

        self.chain = chain
        return [chain]

    async def drive(self, client: Client) -> None:
        await client.start(self.chain, "one")
        await client.result("one")


def play(play: Play) -> None:
    play.app(Chain())
    play.at(record="Scheduled", position=2).crash("told")
    play.live()
    play.finish()
