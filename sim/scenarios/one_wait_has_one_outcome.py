"""A wait times out in the very moment in which its signal comes: one of them counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fusee
from fusee import Context, Signal

if TYPE_CHECKING:
    from sim.scenarios.apps import Client, Service

from sim.scenarios.play import Play

word = Signal[str]("word")


class Moment:
    def workflows(self, service: Service) -> list:
        async def note(what: str) -> str:
            return service.call(what=what)

        @fusee.workflow
        async def moment(ctx: Context) -> str:
            what = await ctx.wait_for(word, timeout=0.01, default="nothing")
            return await ctx.step(note, what)

        self.moment = moment
        return [moment]

    async def drive(self, client: Client) -> None:
        await client.start(self.moment, "one")
        client.block(0.02)
        await client.signal("one", word, "word", "1")
        await client.result("one")


def play(play: Play) -> None:
    play.app(Moment())
    play.finish()
