"""A crash while the next segment is made leaves a directory that opens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fusee
from fusee import Context

if TYPE_CHECKING:
    from sim.scenarios.apps import Client, Service

from sim.scenarios.play import TINY, Play


class Long:
    def workflows(self, service: Service) -> list:
        async def work(text: str) -> str:
            service.call(text=text)
            return text

        @fusee.workflow
        async def long(ctx: Context) -> int:
            return sum([len(await ctx.step(work, "x" * 9_000)) for _ in range(6)])

        self.long = long
        return [long]

    async def drive(self, client: Client) -> None:
        await client.start(self.long, "one")
        await client.result("one")


def play(play: Play) -> None:
    play.app(Long(), sizes=TINY)
    play.at(makes="segment-", nth=2).crash("lost")
    play.live()
    play.finish()
