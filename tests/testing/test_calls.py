"""A step without a stub is called as one with a stub is: logged, compared, and survived."""

from __future__ import annotations

from collections import Counter

import pytest

from fusee.testing import Faults, Simulator
from tests.testing import parcels
from tests.testing.parcels import Lost, Parcel, counts_replays, mislay, send


async def sent(sim: Simulator) -> int:
    return await sim.engine.run(send, "p-1", 10)


def test_the_calls_of_all_steps_are_logged_in_their_order() -> None:
    sim = Simulator([send])
    sim.stub(parcels.label, lambda parcel: Parcel(7))

    assert sim.run(sent) == 8

    assert [(call.step, call.args, call.answer) for call in sim.calls] == [
        ("weigh", (Parcel(10),), Parcel(11)),
        ("label", (Parcel(11),), Parcel(7)),
        ("look", (Parcel(7),), Parcel(7)),
        ("hand_over", (Parcel(7),), Parcel(8)),
    ]
    assert [call.key for call in sim.calls] == [f"p-1/1/{number}" for number in (1, 2, 3, 4)]


def test_a_process_dies_around_the_call_of_every_step() -> None:
    died: Counter[str] = Counter()
    again: Counter[str] = Counter()

    for seed in range(40):
        sim = Simulator([send], seed=seed, faults=Faults(crash=0.3))
        assert sim.run(sent) == 23
        died.update(sim.world.marks.counts)
        calls = Counter(call.step for call in sim.calls)
        again.update(step for step, count in calls.items() if count > 1)

    assert died["death:before-call"] > 10
    assert died["death:after-call"] > 10
    assert set(again) == {"weigh", "label", "look", "hand_over"}


def test_a_call_whose_process_died_after_it_is_in_the_log_with_its_answer() -> None:
    lives: set[int] = set()

    for seed in range(20):
        sim = Simulator([send], seed=seed, faults=Faults(crash=0.3))
        sim.run(sent)
        first = [call for call in sim.calls if call.step == "weigh"]
        assert {call.answer for call in first} <= {Parcel(11)}
        lives.update(call.life for call in first)

    assert len(lives) > 2


@pytest.mark.parametrize("cold", [False, True])
def test_a_key_that_comes_with_two_inputs_is_found_in_steps_without_a_stub(cold: bool) -> None:
    parcels.replays[0] = 0
    texts: list[str] = []

    for seed in range(20):
        faults = Faults(crash=0.5, cold_process=cold)
        sim = Simulator([counts_replays], seed=seed, faults=faults)
        try:
            sim.run(lambda_scenario)
        except AssertionError as error:
            texts.append(str(error))

    found = [text for text in texts if "came with two inputs: weigh(" in text]
    # Cold, each life counts from the beginning, so there is nothing to find.
    assert bool(found) is not cold
    assert texts == found


async def lambda_scenario(sim: Simulator) -> None:
    await sim.engine.run(counts_replays, "c-1")


def test_what_a_step_raises_is_logged_and_retried() -> None:
    sim = Simulator([mislay])

    async def scenario(sim: Simulator) -> str:
        return await sim.engine.run(mislay, "m-1", 3)

    assert sim.run(scenario) == "lost"

    assert [(call.attempt, type(call.answer)) for call in sim.calls] == [(1, Lost), (2, Lost)]
    assert not any(call.is_answered for call in sim.calls)


def test_the_log_of_a_cold_process_has_the_classes_of_the_test() -> None:
    sim = Simulator([send, mislay], seed=3, faults=Faults(crash=0.3, cold_process=True))

    async def scenario(sim: Simulator) -> str:
        await sent(sim)
        return await sim.engine.run(mislay, "m-1", 3)

    assert sim.run(scenario) == "lost"

    assert sim.world.lives > 1
    assert {type(call.args[0]) for call in sim.calls} == {Parcel}
    answers = {type(call.answer) for call in sim.calls if call.step != "lose"}
    assert answers == {Parcel}
    assert {type(call.answer) for call in sim.calls if call.step == "lose"} == {Lost}
