"""The code sees what a replay will see: the value that the recorded bytes stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import fusee
from fusee import Context

if TYPE_CHECKING:
    from sim.scenarios.apps import Client
    from tests.support.ledger import ExternalService

from sim.scenarios.play import Play


class Tuples:
    def workflows(self, service: ExternalService) -> list:
        async def pair() -> Any:
            service.call()
            return (1, 2)

        async def note(kind: str) -> str:
            return service.call(kind=kind)

        @fusee.workflow
        async def tuples(ctx: Context) -> str:
            value = await ctx.step(pair)
            return await ctx.step(note, type(value).__name__)

        self.tuples = tuples
        return [tuples]

    async def drive(self, client: Client) -> None:
        await client.start(self.tuples, "one")
        await client.result("one")


def play(play: Play) -> None:
    play.app(Tuples())
    play.at(record="Scheduled", position=2).crash("landed")
    play.live()
    play.finish()
