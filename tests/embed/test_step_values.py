"""Steps: what their functions are given, and what the code gets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

import fusee
from fusee import Context, EncodeError, PayloadTooLarge, workflow
from tests.support.aio import in_loop
from tests.support.worlds import opened


@dataclass
class Basket:
    items: list[str] = field(default_factory=list)


seen: list[Any] = []


async def take(basket: Basket, plain: Any) -> Basket:
    seen.append((list(basket.items), list(plain)))
    basket.items.append("added by the step")
    return basket


@workflow
async def mutates(ctx: Context) -> list[Any]:
    basket, plain = Basket(["tea"]), ["x"]
    op = ctx.step(take, basket, plain)
    basket.items.append("after the call")
    plain.append("after the call")
    returned = await op
    returned.items.append("by the code")
    return [basket.items, returned.items, type(returned).__name__]


@in_loop
async def test_what_happens_to_arguments_after_the_call_is_not_seen_by_the_function() -> None:
    seen.clear()
    async with opened(mutates) as world:
        result = await world.engine.run(mutates, "w")
        journal = await world.engine.get(mutates, "w").journal()

    assert seen == [(["tea"], ["x"])]
    assert result == [
        ["tea", "after the call"], ["tea", "added by the step", "by the code"], "Basket",
    ]  # fmt: skip
    assert "after the call" not in journal[0].input
    assert journal[0].outcome == '{"items":["tea","added by the step"]}'


calls: list[str] = []


async def returns(value: str) -> Any:
    calls.append(value)
    match value:
        case "generator":
            return (i for i in range(3))
        case "nan":
            return float("nan")
        case "large":
            return "x" * (4 * 1024 * 1024 + 1)
        case _:
            return lambda: None


@workflow
async def bad_results(ctx: Context, value: str) -> str:
    retrying = ctx.options(retry=fusee.Retry(5, initial=0))
    try:
        await retrying.step(returns, value)
    except (EncodeError, PayloadTooLarge) as error:
        await ctx.sleep("1s")
        return f"{type(error).__name__}: {error} / {' '.join(error.__notes__)}"
    return "no error"


@pytest.mark.parametrize("value", ["generator", "nan", "large", "function"])
def test_a_result_that_cannot_be_recorded_does_not_run_the_function_again(value: str) -> None:
    @in_loop
    async def scenario() -> None:
        calls.clear()
        async with opened(bad_results) as world:
            live = await world.finish(world.engine.run(bad_results, "w", value))
        async with opened(bad_results, log=world.log[:-1]) as again:
            replayed = await again.finish(again.engine.get(bad_results, "w").result())
        assert calls == [value]
        assert "its effects happened" in live
        assert "result of step 'returns'" in live
        assert replayed == live

    scenario()
