"""The later step ends first; a replay hands both over in the order in which the code saw them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import fusee
from fusee import Context

if TYPE_CHECKING:
    from sim.scenarios.apps import Client, Service

from sim.scenarios.play import Play


class Race:
    def workflows(self, service: Service) -> list:
        async def slow() -> str:
            service.call()
            for _ in range(20):
                await asyncio.sleep(0)
            return "slow"

        async def quick() -> str:
            service.call()
            return "quick"

        async def note(order: list[str]) -> str:
            return service.call(order=order)

        @fusee.workflow
        async def race(ctx: Context) -> list[str]:
            steps = [ctx.step(slow), ctx.step(quick)]
            order = [await done for done in asyncio.as_completed(steps)]
            await ctx.step(note, order)
            return order

        self.race = race
        return [race]

    async def drive(self, client: Client) -> None:
        await client.start(self.race, "race")
        client.expect(await client.result("race"), ["quick", "slow"], "the order of ends")


def play(play: Play) -> None:
    play.app(Race())
    play.at(record="Scheduled", position=3).crash("landed")
    play.live()
    play.finish()
