"""A timer has fired, and its run leaves memory unseen: it fires once, or not at all."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import fusee
from fusee import Context, Signal
from fusee.engine.turns import fire_timers, run_turns

if TYPE_CHECKING:
    from sim.scenarios.apps import Client, Service

from sim.scenarios.play import Play

word = Signal[str]("word")


class Unseen:
    """A run leaves memory between the firing of its timer and the turn that is to see it."""

    def workflows(self, service: Service) -> list:
        @fusee.workflow
        async def sleeper(ctx: Context) -> str:
            await ctx.sleep(10)
            return "awake"

        self.sleeper = sleeper
        return [sleeper]

    async def drive(self, client: Client) -> None:
        await client.start(self.sleeper, "one")
        core, loop = client.engine.life.core, asyncio.get_running_loop()
        run = core.table.latest("one")
        client.block(20)
        loop.call_soon(_unload_in_between, core, run)
        client.expect(await client.result("one"), "awake", "the result")


class Overtaken:
    """A signal comes, then the wait for it times out, before either is seen: the signal counts."""

    def workflows(self, service: Service) -> list:
        @fusee.workflow
        async def waiter(ctx: Context) -> str:
            said = await ctx.wait_for(word, timeout=10, default="nothing")
            await ctx.sleep(10)
            return said

        self.waiter = waiter
        return [waiter]

    async def drive(self, client: Client) -> None:
        await client.start(self.waiter, "one")
        core, loop = client.engine.life.core, asyncio.get_running_loop()
        run = core.table.latest("one")
        client.block(20)
        signal = asyncio.ensure_future(client.signal("one", word, "word", "1"))
        loop.call_soon(_unload_behind_the_signal, core, run)
        await signal
        client.expect(await client.result("one"), "word", "the result")


def _unload_behind_the_signal(core: Any, run: Any) -> None:
    """Unload the run between the turn that hands over the signal and that of the timeout."""
    fire_timers(core, 1)
    run_turns(core, 1)
    core.reload(run)


def _unload_in_between(core: Any, run: Any) -> None:
    """Unload the run when its timer has fired, and again when its replay is done: twice unseen."""
    for _ in range(2):
        fire_timers(core, 1)
        core.reload(run)
        while run.program is None or run.program.machine.replaying:
            run_turns(core, 1)


def play(play: Play) -> None:
    other = Play()
    other.app(Overtaken())
    other.finish()
    other.check()
    play.app(Unseen())
    play.finish()
