"""A run that leaves memory compensates nothing: its handlers for errors do not run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fusee
from fusee import Context, Signal

if TYPE_CHECKING:
    from sim.scenarios.apps import Client, Service

from sim.scenarios.play import Play

word = Signal[str]("word")


class Saga:
    def __init__(self) -> None:
        self.compensated = 0

    def workflows(self, service: Service) -> list:
        @fusee.workflow
        async def saga(ctx: Context) -> str:
            try:
                return await ctx.wait_for(word)
            except Exception:
                self.compensated += 1
                raise

        self.saga = saga
        return [saga]

    async def drive(self, client: Client) -> None:
        await client.start(self.saga, "one")
        if client.life > 1:
            client.expect(self.compensated, 0, "compensations, and nothing has failed")
            await client.signal("one", word, "on", "1")
            await client.result("one")
        else:
            await client.until(lambda: client.engine.life.core.table.latest("one").program)


def play(play: Play) -> None:
    play.app(Saga())
    play.live()
    play.finish()
