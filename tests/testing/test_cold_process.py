"""Cold processes: what a workflow keeps in its module does not outlive the process."""

from __future__ import annotations

import importlib
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from fusee import Context, WorkflowFailed, workflow
from fusee.testing import Faults, Simulator
from tests import testing
from tests.testing import shop
from tests.testing.shop import Declined, Order, Quote, Receipt, checkout, remembers, review

TEA = Order("tea", 1)
COLD = Faults(cold_process=True)


@pytest.fixture(autouse=True)
def _empty_cache() -> None:
    shop.cache.clear()


async def crashed_between(sim: Simulator) -> int:
    run = await sim.engine.start(remembers, "r-1", "k")
    await sim.advance("90s")
    await sim.crash()
    return await run.result()


def test_a_global_that_outlives_its_process_hides_the_mistake() -> None:
    assert remembers.fn.__globals__["cache"] is shop.cache
    with pytest.raises(AssertionError, match="r-1/1 is held"):
        # Warm: the second life finds the key, and does not sleep the first time.
        Simulator([remembers], seed=1).run(crashed_between)
    assert "k" in shop.cache


def test_a_cold_process_has_no_memory_of_the_one_before() -> None:
    assert Simulator([remembers], seed=1, faults=COLD).run(crashed_between) == 1
    assert not shop.cache


def test_a_cache_across_runs_is_found_by_a_cold_process() -> None:
    async def scenario(sim: Simulator) -> int:
        await sim.engine.run(remembers, "r-1", "k")
        run = await sim.engine.start(remembers, "r-2", "k")
        await sim.advance("1s")
        await sim.crash()
        return await run.result()

    # Warm, the cache is there in both lives: the test passes and production does not.
    assert Simulator([remembers], seed=1).run(scenario) == 1
    shop.cache.clear()
    with pytest.raises(AssertionError, match="run r-2/1 is held"):
        Simulator([remembers], seed=1, faults=COLD).run(scenario)


def test_values_cross_between_the_test_and_a_cold_process_as_their_own_classes() -> None:
    sim = Simulator([checkout], seed=2, faults=Faults(cold_process=True, crash=0.3))
    orders: list[Order] = []

    def price(order: Order) -> Quote:
        orders.append(order)
        return Quote(Decimal(2))

    sim.stub(shop.price, price)
    pay = sim.stub(shop.charge, lambda quote: "ch_1")

    async def scenario(sim: Simulator) -> Receipt | None:
        run = await sim.engine.start(checkout, "o-1", TEA)
        await run.signal(review, True)
        return await run.result()

    assert sim.run(scenario) == Receipt("ch_1", Quote(Decimal(2)))
    assert orders[0] == TEA
    assert pay.calls[0].args == (Quote(Decimal(2)),)


def test_exceptions_cross_as_their_own_classes_too() -> None:
    def declines(quote: Quote) -> str:
        raise Declined("no money")

    sim = Simulator([checkout, shop.strict], seed=3, faults=COLD)
    sim.stub(shop.price, lambda order: Quote(Decimal(2)))
    pay = sim.stub(shop.charge, declines)

    async def scenario(sim: Simulator) -> None:
        assert await sim.engine.run(checkout, "o-1", TEA) is None
        with pytest.raises(WorkflowFailed) as failure:
            await sim.engine.run(shop.strict, "s-1", TEA)
        assert type(failure.value.__cause__) is Declined

    sim.run(scenario)

    assert [call.attempt for call in pay.calls] == [1, 1], "never_on knows the class"


def test_a_synchronous_step_runs_cold_as_well() -> None:
    sim = Simulator([checkout], seed=4, faults=COLD)
    sim.stub(shop.price, lambda order: Quote(Decimal(2)))
    sim.stub(shop.charge, lambda quote: "ch_1")
    back = sim.stub(shop.refund, lambda charge_id: None)

    async def scenario(sim: Simulator) -> None:
        run = await sim.engine.start(checkout, "o-1", TEA)
        await sim.advance("2d")
        assert await run.result() is None

    sim.run(scenario)

    assert len(back.effects()) == 1


def test_the_modules_of_the_test_are_in_place_afterwards() -> None:
    before = sys.modules["tests.testing.shop"]

    with pytest.raises(ZeroDivisionError):
        Simulator([checkout], faults=COLD).run(divides)

    assert sys.modules["tests.testing.shop"] is before is shop is testing.shop


async def divides(sim: Simulator) -> None:
    run = await sim.engine.start(remembers, "r-1", "k") if sim.seed else None
    await sim.crash()
    raise ZeroDivisionError(run)


def test_a_workflow_inside_a_function_cannot_be_cold() -> None:
    @workflow
    async def inner(ctx: Context) -> None:
        await ctx.sleep(1)

    with pytest.raises(ValueError, match="<locals>.inner is defined inside a function; define it"):
        Simulator([inner], faults=COLD)


@workflow
async def again(ctx: Context) -> None:
    await ctx.sleep(1)


first = again


@workflow
async def again(ctx: Context) -> None:  # type: ignore[no-redef]
    await ctx.sleep(2)


def test_a_workflow_that_its_module_no_longer_holds_cannot_be_cold() -> None:
    with pytest.raises(ValueError, match="another workflow has its name in"):
        Simulator([first], faults=COLD)


PACKAGE = {
    "__init__.py": "from coldpkg.flow import flow\nfrom coldpkg.other import other\n",
    "data.py": "shared = []\n",
    "other.py": (
        "from fusee import Context, workflow\n"
        "seen = []\n"
        "@workflow\n"
        "async def other(ctx: Context) -> int:\n"
        "    seen.append(1)\n"
        "    return len(seen)\n"
    ),
    "flow.py": (
        "from fusee import Context, workflow\n"
        "from coldpkg import data\n"
        "from coldpkg.other import other, seen\n"
        "@workflow\n"
        "async def flow(ctx: Context) -> list[int]:\n"
        "    from coldpkg import other as again\n"
        "    from coldpkg.flow import other as within\n"
        "    seen.append(1)\n"
        "    data.shared.append(1)\n"
        "    return [len(seen), len(data.shared), int(other is within), int(other is again)]\n"
    ),
}


def test_modules_of_a_package_that_import_each_other_get_copies_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "coldpkg").mkdir()
    for name, text in PACKAGE.items():
        (tmp_path / "coldpkg" / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    package = importlib.import_module("coldpkg")
    flow, other = package.flow, package.other
    modules = {name: module for name, module in sys.modules.items() if "coldpkg" in name}

    async def scenario(sim: Simulator) -> list[object]:
        first = [await sim.engine.run(flow, "f-1"), await sim.engine.run(other, "o-1")]
        await sim.crash()
        return [*first, await sim.engine.run(flow, "f-2"), await sim.engine.run(other, "o-2")]

    said = Simulator([flow, other], faults=COLD).run(scenario)

    # `coldpkg.other` is a workflow, which the package keeps: it is no module of a life.
    assert said == [[1, 1, 1, 0], 2, [1, 2, 1, 0], 2]
    assert (package.flow, package.other) == (flow, other)
    assert modules == {name: module for name, module in sys.modules.items() if "coldpkg" in name}
