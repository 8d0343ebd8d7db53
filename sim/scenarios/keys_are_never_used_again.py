"""The second run of an ID has keys of its own: no service sees one key with two inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fusee
from fusee import Context

if TYPE_CHECKING:
    from sim.scenarios.apps import Client, Service

from sim.scenarios.play import Play


class Again:
    def workflows(self, service: Service) -> list:
        async def work(what: str) -> str:
            return service.call(what=what)

        @fusee.workflow
        async def again(ctx: Context, what: str) -> str:
            return await ctx.step(work, what)

        self.again = again
        return [again]

    async def drive(self, client: Client) -> None:
        for number in (1, 2):
            what = f"input {number}"
            await client.start(self.again, "one", what, request=what, reuse="allow")
            await client.result("one", number)


def play(play: Play) -> None:
    play.app(Again())
    play.finish()
