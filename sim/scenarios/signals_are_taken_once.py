"""A signal that was read before a crash and is sent again by a careful client counts once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fusee
from fusee import Context, Query, Signal

if TYPE_CHECKING:
    from sim.scenarios.apps import Client, Service

from sim.scenarios.play import Play

word = Signal[str]("word")
progress = Query[None, list[str]]("progress")


class Twice:
    def workflows(self, service: Service) -> list:
        @fusee.workflow
        async def twice(ctx: Context) -> list[str]:
            seen: list[str] = []
            ctx.on_query(progress)(lambda: seen)
            for _ in range(2):
                seen.append(await ctx.wait_for(word))
            return seen

        self.twice = twice
        return [twice]

    async def drive(self, client: Client) -> None:
        await client.start(self.twice, "one")
        await client.signal("one", word, "first", "1")
        if client.life == 1:
            while not await client.engine.get("twice", "one").query(progress):
                pass
            client.die()
        await client.signal("one", word, "second", "2")
        client.expect(await client.result("one"), ["first", "second"], "signals as they were read")


def play(play: Play) -> None:
    play.app(Twice())
    play.live()
    play.finish()
