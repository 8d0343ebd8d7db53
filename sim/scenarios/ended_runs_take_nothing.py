"""Between the end of a run and the disk's word of it, a signal is refused and not recorded."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import fusee
from fusee import Context, Signal

if TYPE_CHECKING:
    from sim.scenarios.apps import Client, Service

from sim.scenarios.play import Play

word = Signal[int]("word")


class Late:
    def workflows(self, service: Service) -> list:
        async def work() -> str:
            return service.call()

        @fusee.workflow
        async def late(ctx: Context) -> str:
            return await ctx.step(work)

        self.late = late
        return [late]

    async def drive(self, client: Client) -> None:
        await client.start(self.late, "one")
        sending: list[asyncio.Task[bool]] = []
        while not sending or not sending[-1].done() or sending[-1].result():
            number = len(sending) + 1
            task = asyncio.ensure_future(client.signal("one", word, number, str(number)))
            sending.append(task)
            await asyncio.sleep(0)
        await asyncio.gather(*sending, client.result("one"))


def play(play: Play) -> None:
    play.app(Late(), is_slow=True)
    play.finish()
