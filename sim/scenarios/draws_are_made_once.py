"""What a run has drawn by chance is the same after a crash."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fusee
from fusee import Context

if TYPE_CHECKING:
    from sim.scenarios.apps import Client, Service

from sim.scenarios.play import Play


class Dice:
    def workflows(self, service: Service) -> list:
        async def note(number: str) -> str:
            return service.call(number=number)

        @fusee.workflow
        async def dice(ctx: Context) -> str:
            return await ctx.step(note, str(ctx.uuid4()))

        self.dice = dice
        return [dice]

    async def drive(self, client: Client) -> None:
        await client.start(self.dice, "one")
        await client.result("one")


def play(play: Play) -> None:
    play.app(Dice())
    play.at(record="Scheduled", position=2).crash("landed")
    play.live()
    play.finish()
