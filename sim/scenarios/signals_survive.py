"""A signal that nobody has read is there after a crash, and the oldest one is read first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fusee
from fusee import Context, Signal

if TYPE_CHECKING:
    from sim.scenarios.apps import Client, Service

from sim.scenarios.play import Play

word = Signal[str]("word")


class Buffered:
    """Two signals come while the run waits for a step that ends only in the second life."""

    def workflows(self, service: Service) -> list:
        async def block() -> str:
            service.call()
            await self.client.until(lambda: self.client.life > 1)
            return "free"

        @fusee.workflow
        async def buffered(ctx: Context) -> list[str]:
            await ctx.step(block)
            return [await ctx.wait_for(word), await ctx.wait_for(word)]

        self.buffered = buffered
        return [buffered]

    async def drive(self, client: Client) -> None:
        self.client = client
        await client.start(self.buffered, "one")
        if client.life == 1:
            await client.signal("one", word, "first", "1")
            await client.signal("one", word, "second", "2")
            client.die()
        client.expect(await client.result("one"), ["first", "second"], "signals as they were read")


def play(play: Play) -> None:
    play.app(Buffered())
    play.live()
    play.finish()
