"""What a dead process had open is unwound where it died, and nobody hears of it."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator

import pytest

from fusee.sdk.step import spec_of
from fusee.testing import Faults, Simulator
from fusee.testing.device import PowerLost
from fusee.testing.plan import Peace
from tests.testing import unwinding_flows as flows
from tests.testing.unwinding_flows import both, effect, holds, holds_later, holds_the_time, said

FLOWS = [holds, holds_later, holds_the_time]


@pytest.fixture(autouse=True)
def _nothing_said() -> Iterator[None]:
    said.clear()
    threshold = gc.get_threshold()
    yield
    gc.set_threshold(*threshold)


async def dies_twice(sim: Simulator) -> None:
    await sim.engine.start(holds, "a")
    await sim.engine.start(holds, "b")
    await sim.engine.start(holds_later, "c")
    for life in (1, 2):
        await sim.advance("1m")
        said.append(f"life {life} ends")
        await sim.crash()
        said.append(f"life {life + 1} serves")


def spoken(*, collects: bool) -> list[str]:
    """Run it with a collector that comes all the time, or never."""
    said.clear()
    gc.collect()
    if collects:
        gc.set_threshold(1, 1, 1)
    else:
        gc.disable()
    try:
        Simulator(FLOWS, seed=1).run(dies_twice)
        said.append("it is over")
    finally:
        gc.enable()
        gc.set_threshold(700, 10, 10)
    gc.collect()
    return list(said)


def test_everything_is_unwound_between_the_death_and_the_next_life() -> None:
    lines = spoken(collects=False)

    died, serves = lines.index("life 1 ends"), lines.index("life 2 serves")
    begun = [line.removesuffix(" begins") for line in lines[:died] if line.endswith(" begins")]
    ended = [line.removesuffix(" ends") for line in lines[died + 1 :][: len(begun)]]
    assert len(begun) == 13
    assert {*begun} == {*ended}
    assert serves > died + 13
    assert lines[-1] == "it is over"


def test_when_it_is_unwound_does_not_depend_on_the_collector() -> None:
    assert spoken(collects=True) == spoken(collects=False)


def test_nothing_that_is_unwound_reaches_a_service_or_the_log() -> None:
    async def scenario(sim: Simulator) -> list[str]:
        await dies_twice(sim)
        return list(sim.world.log)  # Before the last process ends, which closes in order.

    sim = Simulator(FLOWS, seed=2)
    calls = sim.stub(effect, lambda name: None)

    log = sim.run(scenario)

    assert "run a ends" in said
    assert calls.calls == []
    assert not [line for line in log if "is unwound" in line or "cut off" in line]


def test_a_call_of_a_dead_process_does_not_arrive_whoever_lives_by_then() -> None:
    async def scenario(sim: Simulator) -> None:
        dead = await sim.world.serving()
        await sim.crash()
        assert (await sim.world.serving()).is_alive
        waits = sim.world.function_of(dead, spec_of(effect))("a")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3600):
                await waits
        with pytest.raises(PowerLost):
            sim.world.function_of(dead, spec_of(flows.tells_later))("a")

    sim = Simulator(FLOWS)
    sim.stub(effect, lambda name: None)
    sim.run(scenario)

    assert sim.calls == []


class DiesOnce(Peace):
    """The first process dies when its first step has answered."""

    def dies(self, life: int, point: str, passed: int) -> bool:
        return (life, point, passed) == (1, "after-call", 1)


def test_what_was_ready_with_the_code_at_which_a_process_died_does_not_run() -> None:
    async def scenario(sim: Simulator) -> None:
        sim.world.plan = DiesOnce()
        await sim.engine.start(both, "b")
        await sim.advance("90s")
        said.append("it has died")
        await sim.advance("90s")

    sim = Simulator([both])
    sim.run(scenario)

    assert said == ["one goes on", "it has died", "one goes on", "other goes on"]


def test_a_scenario_that_fails_leaves_nothing_to_the_collector() -> None:
    async def scenario(sim: Simulator) -> None:
        await sim.engine.start(holds, "a")
        await sim.advance("1m")
        sim.world.crash()
        raise KeyError("mine")

    with pytest.raises(KeyError):
        Simulator(FLOWS).run(scenario)

    before = list(said)
    gc.collect()
    assert said == before
    assert "run a ends" in said


def test_what_the_scenario_leaves_open_is_unwound_at_its_end() -> None:
    async def scenario(sim: Simulator) -> None:
        tasks.append(asyncio.create_task(flows.helper("scenario")))
        await sim.advance("1s")

    tasks: list[object] = []
    Simulator(FLOWS).run(scenario)

    assert said == ["task of scenario begins", "task of scenario ends"]


@pytest.mark.parametrize("cold", [False, True])
def test_what_only_the_dead_reach_for_is_no_finding(cold: bool) -> None:
    async def scenario(sim: Simulator) -> None:
        await sim.engine.start(holds_the_time, "t")
        await sim.advance("1m")
        await sim.crash()
        await sim.advance("2h")

    sim = Simulator(FLOWS, faults=Faults(cold_process=cold))
    sim.run(scenario)

    assert [call.is_answered for call in sim.calls] == [False, True]
    assert said == [], "the clock was refused"
