"""Timers that are due in one instant fire in the order of their positions, in every process."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import fusee
from fusee import Context

if TYPE_CHECKING:
    from sim.scenarios.apps import Client, Service

from sim.scenarios.play import Play

COUNT = 12


class Alarms:
    def workflows(self, service: Service) -> list:
        @fusee.workflow
        async def alarms(ctx: Context) -> list[int]:
            order: list[int] = []

            async def one(number: int) -> None:
                await ctx.sleep(0.002)
                order.append(number)

            await asyncio.gather(*(one(number) for number in range(COUNT)))
            return order

        self.alarms = alarms
        return [alarms]

    async def drive(self, client: Client) -> None:
        await client.start(self.alarms, "one")
        client.expect(await client.result("one"), list(range(COUNT)), "the order of alarms")


def play(play: Play) -> None:
    play.app(Alarms())
    play.finish()
