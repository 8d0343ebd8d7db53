"""A start that is repeated after a crash finds its own run, also if others came after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fusee
from fusee import Context

if TYPE_CHECKING:
    from sim.scenarios.apps import Client, Service

from sim.scenarios.play import Play


class Repeated:
    def workflows(self, service: Service) -> list:
        @fusee.workflow
        async def short(ctx: Context, what: str) -> str:
            return what

        self.short = short
        return [short]

    async def drive(self, client: Client) -> None:
        for number in (1, 2):
            request = f"request {number}"
            await client.start(self.short, "one", request, request=request, reuse="allow")
            if client.life == 1:
                await client.result("one", number)
        if client.life == 1:
            client.die()


def play(play: Play) -> None:
    play.app(Repeated())
    play.live()
    play.finish()
