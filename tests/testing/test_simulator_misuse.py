"""What the simulator is given wrongly is refused with a text that says what is right."""

from __future__ import annotations

import asyncio
import math
import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

import fusee
from fusee import Context, WorkflowFailed, workflow
from fusee.testing import Faults, NotSimulated, Replayer, Simulator, across_seeds
from tests.testing import shop


@workflow
async def waits(ctx: Context) -> None:
    await ctx.sleep("1m")


@fusee.step
def plain(x: int) -> int:
    return x


@workflow
async def calls_plain(ctx: Context) -> int:
    return await ctx.step(plain, 1)


async def nothing(sim: Simulator) -> None:
    """A scenario."""


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: Simulator([plain]), TypeError, "decorated with @fusee.workflow, not <function"),
        (lambda: Simulator(waits), TypeError, r"Simulator\(\[waits\]\)"),
        (lambda: Simulator(None), TypeError, "Simulator takes a list of workflows, not None"),
        (lambda: Replayer(waits), TypeError, "Replayer takes a list of workflows, not <workflow"),
        (lambda: Replayer(None), TypeError, "Replayer takes a list of workflows, not None"),
        (lambda: Simulator([waits], seed=-1), ValueError, "seed=-1: 0 or more"),
        (lambda: Simulator([waits], seed=1.5), TypeError, "seed=1.5: a whole number"),
        (lambda: Simulator([waits], seed=True), TypeError, "seed=True: a whole number"),
        (lambda: Simulator([waits], faults=0.2), TypeError, "faults=0.2: a fusee.testing.Faults"),
        (lambda: Faults(crash=1.5), ValueError, "crash=1.5"),
        (lambda: Faults(flush_fail=-0.1), ValueError, "flush_fail=-0.1"),
        (lambda: Faults(evict=math.nan), ValueError, "evict=nan"),
        (lambda: Faults(crash=True), ValueError, "crash=True"),
        (lambda: Faults(crash="often"), ValueError, "crash='often'"),
        (lambda: Faults(cold_process=1), ValueError, "cold_process=1"),
        (lambda: Faults(deaths_max=-1), ValueError, "deaths_max=-1"),
        (lambda: Faults(deaths_max=0.5), ValueError, "deaths_max=0.5"),
        (lambda: across_seeds(0), ValueError, r"across_seeds\(0\)"),
        (lambda: across_seeds("many"), ValueError, r"across_seeds\('many'\)"),
        (lambda: across_seeds(5)(nothing), TypeError, "nothing is async"),
        (lambda: across_seeds(5)(lambda: None), TypeError, "takes no `seed`"),
    ],
)
def test_a_wrong_argument_is_refused_where_it_is_given(
    make: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        make()


@pytest.mark.parametrize(
    ("step", "function", "error", "text"),
    [
        ("plain", lambda x: x, TypeError, "takes the function of a step, not 'plain'"),
        (waits, lambda x: x, TypeError, "takes the function of a step, not <workflow waits@1>"),
        (plain, 3, TypeError, "must be a function, not 3"),
        (plain, nothing, TypeError, "'plain' is not async, so its stub cannot be"),
    ],
)
def test_a_stub_needs_the_function_of_a_step_and_a_function(
    step: Any, function: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        Simulator([waits]).stub(step, function)


def test_a_step_has_one_stub_and_gets_it_before_the_run() -> None:
    sim = Simulator([waits, calls_plain])
    sim.stub(plain, lambda x: x)
    with pytest.raises(ValueError, match="'plain' has a stub already"):
        sim.stub(plain, lambda x: x)

    sim.run(nothing)

    with pytest.raises(RuntimeError, match="before"):
        sim.stub(shop.refund, lambda charge_id: None)
    with pytest.raises(RuntimeError, match="was called before; make another Simulator"):
        sim.run(nothing)


def test_a_scenario_is_a_coroutine_function_that_the_simulator_calls() -> None:
    with pytest.raises(TypeError, match="takes a coroutine function"):
        Simulator([waits]).run(lambda sim: None)  # type: ignore[arg-type, return-value]
    sim = Simulator([waits])
    with pytest.raises(TypeError, match="takes a coroutine function"):
        sim.run(nothing(sim))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("duration", "error", "text"),
    [
        ("-5m", ValueError, "'-5m'): time does not go back"),
        (-1, ValueError, "-1): time does not go back"),
        (-0.001, ValueError, "-0.001): time does not go back"),
        (timedelta(seconds=-1), ValueError, "time does not go back"),
        (math.nan, ValueError, "nan): nan is not a duration"),
        (math.inf, ValueError, "inf): inf is not a duration"),
        ("soon", ValueError, "'soon'): 'soon' is not a duration; write it like"),
        (None, TypeError, "None): a NoneType is not a duration; write it like"),
        (True, TypeError, "True): a bool is not a duration; write it like"),
    ],
)
def test_time_goes_forward_by_a_duration(duration: Any, error: type[Exception], text: str) -> None:
    async def scenario(sim: Simulator) -> None:
        with pytest.raises(error, match=re.escape("sim.advance(") + ".*" + re.escape(text)):
            await sim.advance(duration)

    Simulator([waits]).run(scenario)


def test_only_the_scenario_calls_the_engine() -> None:
    sim = Simulator([waits])
    with pytest.raises(RuntimeError, match=r"sim.engine.start\(...\) outside of sim.run"):
        asyncio.run(sim.engine.start(waits, "w-1"))
    with pytest.raises(RuntimeError, match=r"sim.crash\(\) outside of sim.run"):
        asyncio.run(sim.crash())
    sim.run(nothing)
    with pytest.raises(RuntimeError, match="a call of a run outside of sim.run"):
        asyncio.run(sim.engine.get(waits, "w-1").result())


def test_a_workflow_does_not_call_the_engine_of_the_scenario() -> None:
    @workflow
    async def reaches(ctx: Context) -> None:
        await sim.engine.start(waits, "w-1")

    sim = Simulator([waits, reaches])

    async def scenario(sim: Simulator) -> None:
        with pytest.raises(WorkflowFailed, match=r"sim.engine.start\(...\) in workflow code at"):
            await sim.engine.run(reaches, "r-1")

    sim.run(scenario)


def test_a_step_does_not_call_the_engine_of_the_scenario() -> None:
    async def reaches(quote: shop.Quote) -> str:
        await sim.advance("1m")
        return ""

    sim = Simulator([shop.strict])
    sim.stub(shop.price, lambda order: shop.Quote(Decimal(1)))
    sim.stub(shop.charge, reaches)

    async def scenario(sim: Simulator) -> None:
        with pytest.raises(WorkflowFailed, match="in a step, which runs inside of a process"):
            await sim.engine.run(shop.strict, "s-1", shop.Order("tea", 1))

    sim.run(scenario)


def test_a_simulator_does_not_run_within_another() -> None:
    async def scenario(sim: Simulator) -> None:
        with pytest.raises(RuntimeError, match="a simulator runs within a simulator"):
            Simulator([waits]).run(nothing)

    Simulator([waits]).run(scenario)


def test_the_public_names_are_there_and_no_other() -> None:
    import fusee.testing as testing

    assert testing.NotSimulated is NotSimulated
    assert {"Faults", "Simulator", "Stub", "across_seeds"} <= set(dir(testing))
    with pytest.raises(AttributeError, match="no attribute 'Simulatr'"):
        _ = testing.Simulatr  # type: ignore[attr-defined]
