"""Two senders that repeat what was not acknowledged, through one crash after another."""

from __future__ import annotations

import asyncio
import random

import pytest

from fusee import Context, Engine, Signal, workflow
from tests.support.aio import in_loop, spin
from tests.support.worlds import Log, opened

number: Signal[tuple[str, int]] = Signal[tuple[str, int]]("number")
SENDERS = ("a", "b")
COUNT = 60


async def nothing() -> None:
    """A step, so that reading takes more than one turn."""


@workflow
async def collects(ctx: Context) -> list[tuple[str, int]]:
    seen: list[tuple[str, int]] = []
    while len(seen) < COUNT * len(SENDERS):
        seen.append(await ctx.wait_for(number))
        if len(seen) % 7 == 0:
            await ctx.step(nothing)
    return seen


async def send(engine: Engine, sender: str, acknowledged: dict[str, int], patience: int) -> None:
    """Send on from the last acknowledged number, which is sent again: its ack may be lost."""
    run = engine.get(collects, "w")
    for n in range(max(0, acknowledged[sender] - 1), min(COUNT, acknowledged[sender] + patience)):
        await run.signal(number, (sender, n), signal_id=f"{sender}{n}")
        acknowledged[sender] = n + 1


@pytest.mark.parametrize("seed", range(5))
def test_each_number_is_seen_once_and_in_order_of_its_sender(seed: int) -> None:
    chance = random.Random(seed)

    @in_loop
    async def claim() -> None:
        log: Log = []
        acknowledged = dict.fromkeys(SENDERS, 0)
        while min(acknowledged.values()) < COUNT:
            async with opened(collects, log=log) as world:
                start = world.engine.options(request_id="r").start
                await start(collects, "w")
                sending = [
                    asyncio.ensure_future(
                        send(world.engine, sender, acknowledged, chance.randint(1, 20))
                    )
                    for sender in SENDERS
                ]
                await spin(chance.randint(1, 40))
                for task in sending:
                    task.cancel()
                await asyncio.gather(*sending, return_exceptions=True)
                # Nothing that was acknowledged is lost; of the rest a crash keeps what it likes.
                log = list(world.log)
        async with opened(collects, log=log) as world:
            seen = await world.engine.get(collects, "w").result(timeout=30)
        for sender in SENDERS:
            assert [n for name, n in seen if name == sender] == list(range(COUNT))

    claim()
