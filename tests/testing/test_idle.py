"""Whoever watches a world hears when its process has nothing to do."""

from __future__ import annotations

from fusee import Context, workflow
from fusee.embed.programs import Registry
from fusee.testing.client import SimEngine
from fusee.testing.process import Process
from fusee.testing.scheduler import START_US
from fusee.testing.world import Watcher, World


@workflow
async def naps(ctx: Context, times: int) -> int:
    for _ in range(times):
        await ctx.sleep("1h")
    return times


class Idles(Watcher):
    def __init__(self) -> None:
        self.at_s: list[int] = []
        self.uncommitted = 0

    def on_idle(self, process: Process) -> None:
        self.at_s.append((process.world.now_us - START_US) // 1_000_000)
        self.uncommitted += process.engine.life.assembly.node.uncommitted


def test_a_process_is_idle_between_the_things_it_waits_for_and_never_while_it_writes() -> None:
    idles = Idles()
    world = World(1, lambda: Registry([naps]), watcher=idles)

    async def scenario() -> None:
        assert await SimEngine(world).run(naps, "n-1", 3) == 3

    world.run(scenario())
    world.shut()

    assert {0, 3600, 7200} <= set(idles.at_s)
    assert len(idles.at_s) < 30
    assert idles.uncommitted == 0
