"""Messages between runs in the very turn in which one of them ends."""

from __future__ import annotations

import asyncio
from typing import Any

from fusee import Context, Signal, WorkflowFinished, workflow
from tests.support.crash_device import CrashDevice
from tests.support.engines import engine_of, formatted

ping = Signal[str]("ping")


@workflow
async def to_itself(ctx: Context) -> str:
    await ctx.external("self").signal(ping, "last words")
    return "done"


@workflow
async def to_other(ctx: Context, target: str) -> str:
    await ctx.external(target).signal(ping, "from the end")
    return "done"


@workflow
async def receiver(ctx: Context) -> str:
    return await ctx.wait_for(ping)


@workflow
async def to_ended(ctx: Context, target: str) -> str:
    try:
        await ctx.external(target).signal(ping, "too late")
    except WorkflowFinished:
        return "refused"
    return "taken"


WORKFLOWS: list[Any] = [to_itself, to_other, to_ended, receiver]


def test_a_run_that_signals_itself_and_ends_leaves_a_log_that_opens():
    async def main() -> None:
        device = formatted(CrashDevice())
        for _ in range(3):
            async with engine_of(device.survivor(), WORKFLOWS) as engine:
                run = await engine.options(request_id="once").start(to_itself, "self")
                assert await run.result() == "done"
                device = engine.life.assembly.device

    asyncio.run(main())


def test_a_message_sent_in_a_last_turn_is_delivered_also_after_a_restart():
    async def main() -> None:
        device = formatted(CrashDevice())
        async with engine_of(device, WORKFLOWS) as engine:
            got = await engine.start(receiver, "there")
            assert await engine.run(to_other, "sender", "there") == "done"
            assert await got.result() == "from the end"
            assert await engine.run(to_ended, "late", "there") == "refused"
        async with engine_of(device.survivor(), WORKFLOWS) as engine:
            assert await engine.get(receiver, "there").result() == "from the end"

    asyncio.run(main())
