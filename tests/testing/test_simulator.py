"""A user's workflows in the simulator: time is free, processes die, a seed is one run."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import time
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from fusee import AlreadyRunning, WorkflowFailed
from fusee.testing import Faults, Simulator, Stub
from tests.testing import shop
from tests.testing.shop import Declined, Order, Quote, Receipt, checkout, review, subscription

ROOT = Path(__file__).parents[2]
TEA = Order("tea", 1)


def shop_of(seed: int, faults: Faults | None = None) -> tuple[Simulator, Stub, Stub]:
    sim = Simulator([checkout, subscription], seed=seed, faults=faults)
    sim.stub(shop.price, lambda order: Quote(Decimal(sim.now().microsecond)), varies=True)
    pay = sim.stub(shop.charge, lambda quote: "ch_1")
    back = sim.stub(shop.refund, lambda charge_id: None)
    return sim, pay, back


async def approved(sim: Simulator) -> Receipt | None:
    run = await sim.engine.start(checkout, "o-1", TEA)
    await run.signal(review, True)
    return await run.result()


async def three_months(sim: Simulator) -> int:
    run = await sim.engine.start(subscription, "s-1", 3)
    await sim.advance("45d")
    await sim.crash()
    return await run.result()


def test_a_scenario_starts_runs_sends_signals_and_gets_results() -> None:
    sim, pay, back = shop_of(1)

    receipt = sim.run(approved)

    (call,) = pay.calls
    assert receipt == Receipt("ch_1", call.args[0])
    assert (call.key, call.attempt, call.life, call.answer) == ("o-1/1/2", 1, 1, "ch_1")
    assert not back.calls


def test_a_refund_comes_after_a_day_that_passes_at_once() -> None:
    sim, pay, back = shop_of(7)

    async def scenario(sim: Simulator) -> timedelta:
        began = sim.now()
        run = await sim.engine.start(checkout, "o-2", TEA)
        await sim.advance("9m")
        await sim.crash()
        await sim.advance(timedelta(days=2))
        assert await run.result() is None
        return sim.now() - began

    passed = sim.run(scenario)

    assert [call.args for call in back.effects()] == [("ch_1",)]
    assert pay.calls[0].life == 1
    assert back.calls[0].life == 2
    assert timedelta(days=2, minutes=9) < passed < timedelta(days=2, minutes=10)


@pytest.mark.serial
def test_three_months_with_a_crash_in_the_middle_take_less_than_50_ms() -> None:
    took_ms: list[float] = []
    for seed in range(5):
        sim, pay, _ = shop_of(seed)
        began = time.perf_counter()
        assert sim.run(three_months) == 3
        took_ms.append((time.perf_counter() - began) * 1000)
        assert len(pay.effects()) == 3
        assert sim.world.lives == 2

    # The fastest of several: what else the machine does is not the simulator's cost.
    assert min(took_ms) < 50


def test_evicted_runs_come_back_by_replay_and_go_on() -> None:
    sim, pay, _ = shop_of(3)

    async def scenario(sim: Simulator) -> str:
        run = await sim.engine.start(checkout, "o-3", TEA)
        await sim.advance("1m")
        await sim.evict()
        stage = await run.query(shop.progress)
        await run.signal(review, True)
        await run.result()
        return stage

    assert sim.run(scenario) == "reviewing"
    assert len(pay.calls) == 1


def test_a_start_that_is_refused_tells_of_the_run_that_is_there() -> None:
    sim, _, _ = shop_of(4)

    async def scenario(sim: Simulator) -> Receipt | None:
        await sim.engine.start(checkout, "o-4", TEA)
        with pytest.raises(AlreadyRunning) as refusal:
            await sim.engine.start(checkout, "o-4", TEA)
        await sim.crash()
        await refusal.value.run.signal(review, True)
        return await refusal.value.run.result()

    assert sim.run(scenario) is not None


def test_what_a_stub_raises_is_retried_and_arrives_as_its_class() -> None:
    sim = Simulator([checkout, shop.strict], seed=5)
    sim.stub(shop.price, lambda order: Quote(Decimal(order.qty)))
    answers = iter([ConnectionError("down"), ConnectionError("down"), Declined("no money")])

    def refuse(quote: Quote) -> str:
        raise next(answers)

    pay = sim.stub(shop.charge, refuse)

    async def scenario(sim: Simulator) -> None:
        with pytest.raises(WorkflowFailed) as failure:
            await sim.engine.run(shop.strict, "s-1", TEA)
        assert isinstance(failure.value.__cause__, Declined)

    sim.run(scenario)

    assert [call.attempt for call in pay.calls] == [1, 2, 3]
    assert pay.effects() == []


def test_a_stub_may_be_async_and_is_asked_once_a_key_unless_its_answers_vary() -> None:
    sim = Simulator([shop.strict], seed=6, faults=Faults(crash=0.5))
    asked: list[str] = []

    async def slow_charge(quote: Quote) -> str:
        await asyncio.sleep(3600)
        asked.append("charge")
        return f"ch_{len(asked)}"

    sim.stub(shop.price, lambda order: Quote(Decimal(1)))
    pay = sim.stub(shop.charge, slow_charge)

    async def scenario(sim: Simulator) -> str:
        return await sim.engine.run(shop.strict, "s-1", TEA)

    assert sim.run(scenario) == "ch_1"
    assert asked == ["charge"]
    assert {call.key for call in pay.calls} == {"s-1/1/2"}


def test_a_scenario_is_ordinary_asyncio_in_virtual_time() -> None:
    sim, pay, _ = shop_of(8)

    async def scenario(sim: Simulator) -> list[int]:
        began = sim.now()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3600):
                await sim.engine.run(subscription, "s-0", 1)
        assert timedelta(hours=1) <= sim.now() - began < timedelta(hours=1, seconds=1)
        await asyncio.sleep(60)
        runs = (sim.engine.run(subscription, f"s-{count}", count) for count in (1, 2, 3))
        return await asyncio.gather(*runs)

    assert sim.run(scenario) == [1, 2, 3]
    assert len(pay.effects()) == 7


SEEDS = range(1, 4)
HASHES = (
    "from tests.testing.test_simulator import SEEDS, hash_of; "
    "print([hash_of(seed) for seed in SEEDS])"
)


def hash_of(seed: int) -> int:
    sim, _, _ = shop_of(seed, Faults(crash=0.3, flush_fail=0.03, evict=0.3, cold_process=True))
    sim.run(approved)
    return sim.world.trace.hash


def hashes_by(python: str, hash_seed: str) -> str:
    env = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    said = subprocess.check_output([python, "-c", HASHES], cwd=ROOT, env=env, text=True)
    return said.strip()


def python_of(version: str) -> str | None:
    """Return a Python of a version that has what Fusee needs, if this machine has one."""
    for name in (f"{ROOT}/.venv-{version}/bin/python", f"python{version}"):
        found = shutil.which(name)
        if found and not subprocess.call([found, "-c", "import msgspec, pytest"], stderr=-3):
            return found
    return None


@pytest.mark.real
@pytest.mark.parametrize("hash_seed", ["0", "4711"])
def test_a_seed_is_the_same_run_under_every_hash_seed(hash_seed: str) -> None:
    assert hashes_by(sys.executable, hash_seed) == str([hash_of(seed) for seed in SEEDS])


@pytest.mark.real
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_a_seed_is_the_same_run_on_every_python(version: str) -> None:
    python = python_of(version)
    if python is None:
        pytest.skip(f"no Python {version} with Fusee's dependencies on this machine")

    assert hashes_by(python, "1") == str([hash_of(seed) for seed in SEEDS])
