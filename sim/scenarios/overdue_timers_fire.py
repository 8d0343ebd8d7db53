"""A timer that became due while no process lived fires in the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fusee
from fusee import Context

if TYPE_CHECKING:
    from sim.scenarios.apps import Client, Service

from sim.scenarios.play import Play


class Sleeper:
    def workflows(self, service: Service) -> list:
        @fusee.workflow
        async def sleeper(ctx: Context) -> str:
            await ctx.sleep(0.02)
            return "awake"

        self.sleeper = sleeper
        return [sleeper]

    async def drive(self, client: Client) -> None:
        await client.start(self.sleeper, "one")
        await client.result("one")


def play(play: Play) -> None:
    play.app(Sleeper())
    play.at(record="Scheduled", position=1).crash("landed")
    play.live()
    play.sleep(0.03)
    play.finish()
