"""More steps at once than any queue takes: they wait, and none is lost."""

from __future__ import annotations

import asyncio

from fusee import Context, Engine, workflow
from fusee.base.limits import SYNC_STEPS_WAITING_MAX
from tests.support.aio import until


def touch(number: int) -> int:
    return number


async def touch_async(number: int) -> int:
    await asyncio.sleep(0)
    return number


@workflow
async def fan_out(ctx: Context, count: int) -> int:
    done = await asyncio.gather(*(ctx.step(touch, n) for n in range(count)))
    return sum(done)


@workflow
async def endless(ctx: Context) -> None:
    await asyncio.gather(*(ctx.step(wait_for_ever) for _ in range(5)))


async def wait_for_ever() -> None:
    await asyncio.Event().wait()


@workflow(name="endless", version="2")
async def quick(ctx: Context) -> str:
    return "replaced"


def test_more_sync_steps_than_the_pool_takes_wait_their_turn():
    count = SYNC_STEPS_WAITING_MAX + 20

    async def main() -> int:
        async with Engine.open(":memory:", workflows=[fan_out], sync_threads=2) as engine:
            return await engine.run(fan_out, "many", count)

    assert asyncio.run(main()) == count * (count - 1) // 2


def test_a_run_whose_steps_wait_for_room_can_be_replaced():
    async def main() -> None:
        async with Engine.open(
            ":memory:", workflows=[endless, quick], async_steps=2, drain=0.1
        ) as engine:
            await engine.start(endless, "one")
            await until(lambda: len(engine.life.runner.running) == 2)
            replacing = engine.options(on_conflict="terminate_existing", version="2")
            assert await replacing.run(quick, "one") == "replaced"
            assert engine.stopped is None

    asyncio.run(main())
