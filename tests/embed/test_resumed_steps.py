"""Steps that were cut off run again after the next open, exactly as they ran before."""

from __future__ import annotations

import asyncio

from fusee import Context, Engine, workflow

lives: list[Life] = []


class Life:
    """One process, as far as the step can tell."""

    def __init__(self, step_takes_s: float) -> None:
        self.step_takes_s = step_takes_s
        self.step_began = asyncio.Event()
        self.step_loop: asyncio.AbstractEventLoop | None = None
        lives.append(self)


async def work() -> str:
    life = lives[-1]
    life.step_loop = asyncio.get_running_loop()
    life.step_began.set()
    await asyncio.sleep(life.step_takes_s)
    return "done"


@workflow
async def working(ctx: Context) -> str:
    return await ctx.step(work)


def test_a_resumed_step_runs_on_the_applications_loop(tmp_path):
    async def cut_off():
        life = Life(step_takes_s=60)
        async with Engine.open(tmp_path, workflows=[working], drain=0) as engine:
            await engine.start(working, "w")
            await life.step_began.wait()

    async def resume():
        life = Life(step_takes_s=0.001)
        async with Engine.open(tmp_path, workflows=[working]) as engine:
            run = engine.get(working, "w")
            result = await run.result(timeout=20)
            assert life.step_loop is asyncio.get_running_loop()
            return result, [entry.kind for entry in await run.journal()]

    asyncio.run(cut_off())

    assert asyncio.run(resume()) == ("done", ["step"])
