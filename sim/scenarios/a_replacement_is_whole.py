"""A run and the one that replaces it share a batch, however long: no crash comes between them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import fusee
from fusee import Context, Signal

if TYPE_CHECKING:
    from sim.scenarios.apps import Client, Service

from sim.scenarios.play import LARGE, Play

word = Signal[str]("word")
LONG = "x" * 1_200_000


class Replaced:
    def workflows(self, service: Service) -> list:
        @fusee.workflow
        async def waits(ctx: Context, what: str) -> str:
            return await ctx.wait_for(word)

        self.waits = waits
        return [waits]

    async def drive(self, client: Client) -> None:
        if client.life == 1:
            await client.start(self.waits, "one", "short", request="first")
            await asyncio.gather(
                client.start(self.waits, "other", "short"),
                client.start(
                    self.waits, "one", LONG, request="next", on_conflict="terminate_existing"
                ),
            )
            client.die()
        if "one/2" not in client.ledger.facts.started:
            client.expect("one/1" in client.ledger.facts.closed, False, "ended, not replaced")


def play(play: Play) -> None:
    play.app(Replaced(), is_slow=True, sizes=LARGE)
    play.at(record="Closed", of="one/1").crash("told")
    play.live()
    play.finish()
