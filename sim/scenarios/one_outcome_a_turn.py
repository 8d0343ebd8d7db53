"""Two results that come in one batch are handed over in two turns, live as on replay."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import fusee
from fusee import Context

if TYPE_CHECKING:
    from sim.scenarios.apps import Client, Service

from sim.scenarios.play import Play


class Pair:
    def workflows(self, service: Service) -> list:
        async def work(number: int) -> int:
            service.call(number=number)
            return number

        async def note(count: int) -> int:
            service.call(count=count)
            return count

        @fusee.workflow
        async def pair(ctx: Context) -> int:
            steps = [ctx.step(work, 1), ctx.step(work, 2)]
            done, _ = await asyncio.wait(steps, return_when=asyncio.FIRST_COMPLETED)
            return await ctx.step(note, len(done))

        self.pair = pair
        return [pair]

    async def drive(self, client: Client) -> None:
        await client.start(self.pair, "one")
        client.expect(await client.result("one"), 1, "outcomes in one turn")


def play(play: Play) -> None:
    play.app(Pair())
    play.at(record="Scheduled", position=3).crash("landed")
    play.live()
    play.finish()
