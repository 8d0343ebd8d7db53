"""The checker of the replay tests sees what it is there to see."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fusee import Context, Engine, workflow
from tests.support.aio import in_loop
from tests.support.prefixes import Ledger, crash_at_every_point

ledger = Ledger()
_process_state = itertools.count()


def driving(target: Any, **options: Any) -> Callable[[Engine], Awaitable[Any]]:
    async def drive(engine: Engine) -> Any:
        run = await engine.options(request_id="r", **options).start(target, "w")
        return await run.result()

    return drive


async def one() -> int:
    ledger.note()
    return 1


@workflow
async def depends_on_the_process(ctx: Context) -> int:
    if next(_process_state) == 0:
        await ctx.step("first", one)
    return await ctx.step(one)


@workflow
async def answers_by_the_process(ctx: Context) -> int:
    await ctx.step(one)
    return next(_process_state)


@workflow
async def plain(ctx: Context) -> int:
    return await ctx.step(one)


@in_loop
async def test_code_that_takes_another_path_is_seen() -> None:
    with pytest.raises(AssertionError, match="the journal recorded step 'first' here but"):
        await crash_at_every_point([depends_on_the_process], driving(depends_on_the_process))


@in_loop
async def test_another_result_is_seen() -> None:
    with pytest.raises(AssertionError, match="after 1 tickets"):
        await crash_at_every_point([answers_by_the_process], driving(answers_by_the_process))


@in_loop
async def test_a_function_that_runs_again_although_its_outcome_was_durable_is_seen() -> None:
    class Forgetful(Ledger):
        """Claims that the first key ran once more."""

        def note(self) -> str:
            self.keys.append("w/1/1")
            return super().note()

    liar = Forgetful()

    async def two() -> int:
        liar.note()
        return 2

    @workflow
    async def steps(ctx: Context) -> int:
        return await ctx.step(one) + await ctx.step(two)

    with pytest.raises(AssertionError, match="ran again though their outcome was durable"):
        await crash_at_every_point([steps], driving(steps), liar)
