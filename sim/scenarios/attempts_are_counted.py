"""A crash behind a failed attempt resets neither the count nor what was durable of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fusee
from fusee import Context, Retry

if TYPE_CHECKING:
    from sim.scenarios.apps import Client, Service

from sim.scenarios.play import Play


class Stubborn:
    def workflows(self, service: Service) -> list:
        @fusee.step(retry=Retry(4, initial=0, jitter=0))
        async def fail() -> None:
            raise OSError(service.call())

        @fusee.workflow
        async def stubborn(ctx: Context) -> str:
            try:
                await ctx.step(fail)
            except fusee.RetriesExhausted as error:
                return f"{error.attempts} attempts"
            return "it worked"

        self.stubborn = stubborn
        return [stubborn]

    async def drive(self, client: Client) -> None:
        await client.start(self.stubborn, "one")
        client.expect(await client.result("one"), "4 attempts", "the end")


def play(play: Play) -> None:
    play.app(Stubborn())
    play.at(record="AttemptFailed", nth=2).crash("landed")
    play.live()
    play.finish()
