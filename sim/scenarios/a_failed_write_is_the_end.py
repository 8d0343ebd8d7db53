"""After one write has failed nothing is acknowledged any more, whatever the disk says later."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fusee
from fusee import Context

if TYPE_CHECKING:
    from sim.scenarios.apps import Client, Service

from sim.scenarios.play import Play


class Steps:
    def workflows(self, service: Service) -> list:
        async def work(number: int) -> int:
            service.call(number=number)
            return number

        @fusee.workflow
        async def steps(ctx: Context) -> int:
            return sum([await ctx.step(work, number) for number in range(4)])

        self.steps = steps
        return [steps]

    async def drive(self, client: Client) -> None:
        await client.start(self.steps, "one")
        await client.result("one")


def play(play: Play) -> None:
    play.app(Steps())
    play.at(record="Completed", position=2).fail_once()
    if play.live():
        play.ledger.blame("the clients came to their end over a disk that had failed")
    play.finish()
