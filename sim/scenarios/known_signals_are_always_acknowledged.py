"""A signal whose answer was lost is sent again after its run has ended, and is acknowledged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fusee
from fusee import Context, Signal

if TYPE_CHECKING:
    from sim.scenarios.apps import Client, Service

from sim.scenarios.play import Play

word = Signal[str]("word")


class Once:
    def workflows(self, service: Service) -> list:
        @fusee.workflow
        async def once(ctx: Context) -> str:
            return await ctx.wait_for(word)

        self.once = once
        return [once]

    async def drive(self, client: Client) -> None:
        await client.start(self.once, "one")
        client.expect(await client.signal("one", word, "yes", "1"), True, "signal 1 is taken")
        if client.life == 1:
            await client.result("one")
            client.die()
        client.expect(await client.signal("one", word, "no", "2"), False, "signal 2 is taken")


def play(play: Play) -> None:
    play.app(Once())
    play.live()
    play.finish()
