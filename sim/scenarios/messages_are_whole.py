"""A message too long to share a batch is in the log with its sender's record, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fusee
from fusee import Context, Signal

if TYPE_CHECKING:
    from sim.scenarios.apps import Client, Service

from sim.scenarios.play import LARGE, Play

letter = Signal[str]("letter")
LONG = "x" * 700_000


class Letters:
    def __init__(self, text: str) -> None:
        self.text = text

    def workflows(self, service: Service) -> list:
        async def note(count: int) -> int:
            service.call(count=count)
            return count

        @fusee.workflow
        async def writer(ctx: Context) -> int:
            await ctx.external("reader").signal(letter, self.text)
            return await ctx.step(note, 1)

        @fusee.workflow
        async def reader(ctx: Context) -> int:
            return len(await ctx.wait_for(letter))

        self.writer, self.reader = writer, reader
        return [writer, reader]

    async def drive(self, client: Client) -> None:
        await client.start(self.reader, "reader")
        await client.start(self.writer, "writer")
        client.expect(await client.result("reader"), len(self.text), "the letter")
        await client.result("writer")


def play(play: Play) -> None:
    play.app(Letters(LONG), sizes=LARGE)
    play.at(record="Completed", of="writer/1", position=1).crash("told")
    play.live()
    play.finish()
