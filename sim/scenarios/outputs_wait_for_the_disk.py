"""On a disk that is slow to write, nothing leaves before it is durable: not one kind of output."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import fusee
from fusee import Context, Query, Signal

if TYPE_CHECKING:
    from sim.scenarios.apps import Client, Service

from sim.scenarios.play import Play

go = Signal[str]("go")
progress = Query[None, list[str]]("progress")


class Everything:
    """One run, and a client that uses every kind of call on it."""

    def workflows(self, service: Service) -> list:
        @fusee.step(read_only=True)
        async def look() -> str:
            return service.call(read_only=True, what="look")

        async def work(what: str) -> str:
            return service.call(what=what)

        @fusee.workflow
        async def everything(ctx: Context) -> list[str]:
            seen: list[str] = []
            ctx.on_query(progress)(lambda: seen)
            seen.append(await ctx.step(look))
            word = await ctx.wait_for(go)
            seen.append(await ctx.step(work, word))
            return seen

        self.everything = everything
        return [everything]

    async def ask(self, client: Client) -> None:
        """Ask from the first moment on until there is something to tell."""
        while not await client.ask("one", progress):
            pass

    async def drive(self, client: Client) -> None:
        await asyncio.gather(
            client.start(self.everything, "one"),
            client.refused(self.everything, "one"),
            self.ask(client),
        )
        await client.signal("one", go, "now", "go")
        await client.result("one")
        await client.refused(self.everything, "one")


def play(play: Play) -> None:
    play.app(Everything(), is_slow=True)
    play.finish()
