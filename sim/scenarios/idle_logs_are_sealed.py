"""A log that has been idle is sealed, and takes the next batch as if nothing had been."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sim.scenarios.a_failed_write_is_the_end import Steps
from sim.scenarios.play import Play

if TYPE_CHECKING:
    from sim.scenarios.apps import Client


class Idle(Steps):
    async def drive(self, client: Client) -> None:
        await client.start(self.steps, "one")
        await client.result("one")
        await asyncio.sleep(0.03)
        await client.start(self.steps, "two")
        await client.result("two")


def play(play: Play) -> None:
    play.app(Idle())
    play.finish()
