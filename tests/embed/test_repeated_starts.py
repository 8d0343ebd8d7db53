"""A start that its client repeats is the run it began, whatever happened to the ID meanwhile."""

from __future__ import annotations

import pytest

from fusee import Context, Engine, Run, Signal, WorkflowTerminated, workflow
from fusee.record.kinds import Started
from tests.support.aio import in_loop
from tests.support.worlds import opened

go: Signal[str] = Signal[str]("go")


@workflow
async def waits(ctx: Context, x: int = 0) -> str:
    return f"{await ctx.wait_for(go)} {x}"


async def start(engine: Engine, request_id: str, x: int) -> Run[str]:
    options = engine.options(request_id=request_id, on_conflict="terminate_existing", reuse="allow")
    return await options.start(waits, "w", x)


@in_loop
async def test_a_start_repeated_after_others_used_its_id_makes_no_second_run() -> None:
    async with opened(waits) as world:
        first = await start(world.engine, "click-1", 1)
        await first.signal(go, "a")
        await first.result()
        await start(world.engine, "click-2", 2)
        await start(world.engine, "click-3", 3)

        again = await start(world.engine, "click-1", 1)
        replaced = await start(world.engine, "click-2", 2)
        differs = await start(world.engine, "click-1", 9)

        assert (again.ordinal, again.started_by_me, again.input_differs) == (1, True, False)
        assert await again.result() == "a 1"
        assert replaced.ordinal == 2
        with pytest.raises(WorkflowTerminated):
            await replaced.result()
        assert (differs.ordinal, differs.input_differs) == (1, True)
        assert len(world.records(Started)) == 3
        log = list(world.log)
    async with opened(waits, log=log) as later:
        assert [(await start(later.engine, f"click-{n}", n)).ordinal for n in (1, 2, 3)] == [
            1,
            2,
            3,
        ]
