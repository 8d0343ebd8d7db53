"""Each fault does what it says, and nothing when it is not asked for."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from decimal import Decimal

from fusee.engine.views import RunStatus
from fusee.testing import Faults, Simulator, Stub
from tests.testing import shop
from tests.testing.shop import Order, Quote, Receipt, checkout, remembers, review, subscription

TEA = Order("tea", 1)


def shop_of(seed: int, faults: Faults) -> tuple[Simulator, Stub]:
    sim = Simulator([checkout, subscription, remembers], seed=seed, faults=faults)
    sim.stub(shop.price, lambda order: Quote(Decimal(sim.now().microsecond)), varies=True)
    sim.stub(shop.refund, lambda charge_id: None)
    return sim, sim.stub(shop.charge, lambda quote: "ch_1")


async def approved(sim: Simulator) -> Receipt | None:
    run = await sim.engine.start(checkout, "o-1", TEA)
    await run.signal(review, True)
    return await run.result()


async def a_year(sim: Simulator) -> int:
    return await sim.engine.run(subscription, "s-1", 12)


def marks_of(faults: Faults, seeds: int = 20) -> Counter[str]:
    marks: Counter[str] = Counter()
    for seed in range(seeds):
        sim, pay = shop_of(seed, faults)
        assert sim.run(approved) is not None
        assert len(pay.effects()) == 1
        assert len({(call.key, call.args) for call in pay.calls}) == 1
        marks.update(sim.world.marks.counts)
        marks["lives"] += sim.world.lives
    return marks


def test_without_faults_nothing_goes_wrong() -> None:
    marks = marks_of(Faults(), seeds=5)

    assert marks["lives"] == 5
    assert not [name for name in marks if name.startswith(("death:", "fault:"))]


def test_crash_kills_the_process_around_each_write_and_each_call() -> None:
    marks = marks_of(Faults(crash=0.5))

    points = ("before-write", "in-write", "after-write", "append", "before-call", "after-call")
    assert all(marks[f"death:{point}"] for point in points)
    assert marks["lives"] > 40


def test_flush_fail_stops_the_engine_and_ends_its_process() -> None:
    marks = marks_of(Faults(flush_fail=0.1))

    assert marks["fault:write-error"] > 5
    assert marks["lives"] == 20 + marks["fault:write-error"]


def test_there_is_peace_after_deaths_max() -> None:
    sim, _ = shop_of(1, Faults(crash=1.0, flush_fail=0.5, deaths_max=3))

    assert sim.run(approved) is not None

    assert sim.world.lives == 4


def test_evict_takes_runs_out_of_memory_whenever_the_process_is_idle() -> None:
    replays: list[int] = []

    for evict in (0.0, 0.5, 1.0):
        sim, pay = shop_of(2, Faults(evict=evict))
        assert sim.run(a_year) == 12
        assert len(pay.calls) == 12
        assert sim.world.lives == 1
        replays.append(sim.world.marks.counts["fault:evict"])

    assert replays[0] == 0
    assert 0 < replays[1] < replays[2]


def test_an_evicted_run_that_waits_for_months_lets_time_pass() -> None:
    sim, _ = shop_of(3, Faults(evict=1.0))

    assert sim.run(a_year) == 12

    assert sim.world.scheduler.events_run < 2_000


def test_faults_end_with_the_scenario() -> None:
    sim, _ = shop_of(4, Faults(crash=1.0, deaths_max=1000))

    async def scenario(sim: Simulator) -> RunStatus:
        while sim.world.lives < 5:
            await sim.advance("1s")
        return RunStatus.RUNNING

    sim.run(scenario)

    assert sim.world.process is None or not sim.world.process.is_alive


def test_nothing_of_a_simulation_stays_in_memory() -> None:
    worlds: list[weakref.ref[object]] = []

    for seed in range(10):
        sim, _ = shop_of(seed, Faults(crash=0.5, flush_fail=0.05, evict=0.5, cold_process=True))
        sim.run(approved)
        worlds.append(weakref.ref(sim.world))
    del sim, _
    gc.collect()

    assert [world() for world in worlds if world() is not None] == []
