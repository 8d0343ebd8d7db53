"""What is tried again and what is raised at once, and which retries make no sense."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import fusee
from fusee import (
    Context,
    NonRetryable,
    Retry,
    workflow,
)
from tests.support.aio import in_loop
from tests.support.worlds import opened

calls: list[tuple[str, int]] = []


class Fatal(NonRetryable):
    pass


async def raises(what: str) -> None:
    calls.append((what, fusee.current_step().attempt))
    match what:
        case "fatal":
            raise Fatal("no use")
        case "never_on":
            raise KeyError("no use")
        case "not on":
            raise OSError("no use")
        case "when":
            raise ValueError("no")
        case "broken when":
            raise ValueError("broken")
        case "ctx":
            raise fusee.IllegalInWorkflow("no use")
        case "base":
            raise Strange("no Exception")
        case "spontaneous":
            raise asyncio.CancelledError("by itself")
        case "stop":
            raise StopIteration(1)


class Strange(BaseException):
    pass


def _when(error: Exception) -> bool:
    if str(error) == "broken":
        raise LookupError("the user's bug")
    return str(error) != "no"


picky = Retry(3, initial=0, on=(ValueError, KeyError, Fatal), never_on=(KeyError,), when=_when)


@workflow
async def picks(ctx: Context, what: str) -> str:
    try:
        await ctx.options(retry=picky).step(raises, what)
    except Exception as error:
        await ctx.sleep("1s")
        notes = " ".join(n for n in getattr(error, "__notes__", ()) if "Recorded" not in n)
        return f"{type(error).__name__}({error}) {notes}".strip()
    return "no error"


NOT_RETRIED = {
    "fatal": "Fatal(no use)",
    "never_on": "KeyError('no use')",
    "not on": "OSError(no use)",
    "when": "ValueError(no)",
    "broken when": "LookupError(the user's bug) raised by Retry(when=...) of step 'raises', "
    "asked about ValueError('broken')",
    "ctx": "IllegalInWorkflow(no use)",
    "base": "StepFailed(no Exception)",
    "spontaneous": "StepCancelled(step 'raises' raised CancelledError though nobody cancelled it)",
    "stop": "RuntimeError(coroutine raised StopIteration)",
}


@pytest.mark.parametrize(("what", "expected"), NOT_RETRIED.items())
def test_what_is_not_retried_is_raised_itself_live_and_on_replay(what: str, expected: str) -> None:
    @in_loop
    async def scenario() -> None:
        calls.clear()
        async with opened(picks) as world:
            live = await world.finish(world.engine.run(picks, "w", what))
        async with opened(picks, log=world.log[:-1]) as again:
            replayed = await again.finish(again.engine.get(picks, "w").result())
        assert live == replayed == expected
        assert calls == [(what, 1)]

    scenario()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"attempts": 0}, "at least 1"),
        ({"attempts": 1.5}, "at least 1"),
        ({"factor": 0.5}, "at least 1"),
        ({"factor": float("nan")}, "at least 1"),
        ({"jitter": 1.5}, "between 0 and 1"),
        ({"initial": "2m", "max": "1m"}, "shorter than"),
        ({"initial": float("inf")}, "not a duration"),
        ({"within": "soon"}, "not a duration"),
    ],
)
def test_a_retry_that_makes_no_sense_is_refused_where_it_is_written(
    wrong: dict[str, Any], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        Retry(**wrong)
