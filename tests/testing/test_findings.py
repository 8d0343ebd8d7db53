"""What a simulation finds ends the test, whatever the scenario says, and shows how to repeat it."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest

from fusee import Context, Signal, workflow
from fusee.base.errors import DirectoryRefused
from fusee.testing import Faults, Simulator, across_seeds
from fusee.testing.stubs import NOT_ANSWERED
from tests.testing import shop
from tests.testing.shop import Order, Quote, checkout

TEA = Order("tea", 1)
go = Signal[int]("go")


async def total(amount: int) -> int:
    return amount


@workflow
async def waits(ctx: Context) -> int:
    return await ctx.wait_for(go)


@workflow
async def fan(ctx: Context, amount: int) -> int:
    return await ctx.step(total, amount) + await ctx.wait_for(go)


flips = [0]


@workflow
async def changes(ctx: Context) -> None:
    flips[0] += 1
    await ctx.sleep("1m", name=f"sleep {flips[0]}")
    await ctx.wait_for(go)


@workflow
async def alternates(ctx: Context) -> None:
    flips[0] += 1
    await ctx.step(total, flips[0]) if flips[0] % 2 else await ctx.sleep("1s")
    await ctx.sleep("1m")


def text_of(sim: Simulator, scenario: object) -> str:
    with pytest.raises(AssertionError) as failure:
        sim.run(scenario)  # type: ignore[arg-type]
    return str(failure.value)


def test_a_stuck_world_says_which_runs_are_open_and_what_each_waits_for() -> None:
    async def scenario(sim: Simulator) -> None:
        await sim.engine.start(fan, "f-1", 3)
        await (await sim.engine.start(waits, "w-1")).result()

    text = text_of(Simulator([waits, fan], seed=11), scenario)

    assert text.startswith("the world is stuck: nothing will ever happen again")
    assert "2 open:" in text
    assert "run w-1/1 of waits waits for wait 'go'" in text
    assert "run f-1/1 of fan waits for wait 'go'" in text
    assert "simulated with seed=11; the same seed does the same again" in text
    assert "events (virtual time in seconds):" in text


def test_a_run_that_only_waits_at_the_end_is_no_finding() -> None:
    async def scenario(sim: Simulator) -> None:
        await sim.engine.start(waits, "w-1")

    Simulator([waits]).run(scenario)


def test_a_step_that_never_returns_is_named() -> None:
    async def hangs(amount: int) -> int:
        await asyncio.get_running_loop().create_future()
        return amount

    sim = Simulator([fan])
    calls = sim.stub(total, hangs).calls

    async def scenario(sim: Simulator) -> None:
        await sim.engine.run(fan, "f-1", 3)

    assert "run f-1/1 of fan waits for step 'total', attempt 1" in text_of(sim, scenario)
    assert [call.answer for call in calls] == [NOT_ANSWERED]


def test_code_that_does_not_fit_its_journal_is_found_even_if_nobody_waits_for_it() -> None:
    async def scenario(sim: Simulator) -> None:
        await sim.engine.start(changes, "c-1")
        await sim.evict()
        await sim.advance("1s")

    text = text_of(Simulator([changes], seed=3), scenario)

    assert text.startswith("run c-1/1 is held: ")
    assert "sleep" in text
    assert "seed=3" in text


def test_code_that_does_not_fit_its_journal_is_told_instead_of_a_stuck_world() -> None:
    async def scenario(sim: Simulator) -> None:
        run = await sim.engine.start(changes, "c-1")
        await sim.evict()
        await run.result()

    assert text_of(Simulator([changes]), scenario).startswith("run c-1/1 is held: ")


def test_code_that_fits_its_journal_again_in_the_next_life_is_still_told() -> None:
    async def scenario(sim: Simulator) -> None:
        run = await sim.engine.start(alternates, "a-1")
        await sim.advance("1s")
        for _ in range(2):
            await sim.crash()
            await sim.advance("1s")
        await run.result()

    flips[0] = 0

    text = text_of(Simulator([alternates]), scenario)

    assert text.startswith("run a-1/1 is held: ")
    assert text.count("is held") == 1


def test_a_key_with_two_inputs_is_a_broken_promise() -> None:
    sim = Simulator([fan], seed=5)
    sim.stub(total, lambda amount: amount)

    async def scenario(sim: Simulator) -> None:
        await sim.engine.start(fan, "f-1", 3)
        # What an engine without its gate would do after a crash.
        sim._calls.inputs.note("f-1/1/1", "total", b'{"amount":4}')

    text = text_of(sim, scenario)

    assert text.startswith(
        'key f-1/1/1 came with two inputs: total({"amount":3}) and total({"amount":4})'
    )
    assert "hint: after a crash the code called the step again" in text


@across_seeds(10)
def test_a_read_only_step_may_be_asked_again_with_another_input(seed: int) -> None:
    sim = Simulator([checkout], seed=seed, faults=Faults(crash=0.5))
    sim.stub(shop.price, lambda order: Quote(Decimal(sim.now().microsecond)), varies=True)
    sim.stub(shop.charge, lambda quote: "ch_1")

    async def scenario(sim: Simulator) -> None:
        run = await sim.engine.start(checkout, "o-1", TEA)
        await run.signal(shop.review, True)
        await run.result()

    sim.run(scenario)


def test_an_exception_of_our_own_code_ends_the_test() -> None:
    sim = Simulator([waits])

    async def scenario(sim: Simulator) -> None:
        sim.world.on_error("life 1: planted", ZeroDivisionError("planted"))

    with pytest.raises(AssertionError, match="Fusee failed: ZeroDivisionError") as failure:
        sim.run(scenario)
    assert isinstance(failure.value.__cause__, ZeroDivisionError)


def test_a_directory_that_cannot_be_opened_again_is_said() -> None:
    sim = Simulator([waits])

    async def scenario(sim: Simulator) -> None:
        await sim.engine.start(waits, "w-1")
        for platter in sim.world.disk.names.values():
            platter.image[:] = bytes(len(platter.image))
        await sim.crash()

    text = text_of(sim, scenario)

    assert "process 2 could not open its directory" in text
    assert isinstance(sim.world.process and sim.world.process.refusal, DirectoryRefused)


def test_what_the_scenario_raises_comes_out_as_it_is_with_the_seed_as_a_note() -> None:
    async def scenario(sim: Simulator) -> None:
        await sim.engine.start(waits, "w-1")
        raise KeyError("mine")

    with pytest.raises(KeyError) as failure:
        Simulator([waits], seed=12).run(scenario)

    (note,) = failure.value.__notes__
    assert "simulated with seed=12" in note
    assert "boot" in note


def test_the_last_lines_of_the_log_are_shown() -> None:
    @workflow
    async def speaks(ctx: Context) -> None:
        ctx.log.warning("about to wait")
        await ctx.wait_for(go)

    async def scenario(sim: Simulator) -> None:
        await (await sim.engine.start(speaks, "s-1")).result()

    text = text_of(Simulator([speaks]), scenario)

    assert "about to wait" in text
