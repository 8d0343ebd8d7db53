"""Groups of real replicas: seeds are clean, the same run each time, and reach what they should."""

from __future__ import annotations

from fusee.testing.outcome import Verdict
from sim.levels import protocol
from sim.protocol.plan import FAMILIES, draw_plan

SEEDS = range(120)


def test_seeds_of_groups_are_clean_and_reach_every_mark_but_the_rare_ones():
    outcomes = [protocol.run_seed(seed, protocol.Options()) for seed in SEEDS]
    assert [outcome for outcome in outcomes if outcome.verdict is not Verdict.CLEAN] == []
    reached = {mark for outcome in outcomes for mark in outcome.marks}
    assert set(protocol.MARKS) <= reached


def test_a_seed_is_the_same_run_twice():
    for seed in range(5):
        first, second = (protocol.run_seed(seed, protocol.Options()) for _ in range(2))
        assert first == second


def test_what_is_switched_off_does_not_happen_and_changes_no_other_draw():
    sound = protocol.Options(without=frozenset(FAMILIES))
    outcome = protocol.run_seed(1, sound)
    assert outcome.verdict is Verdict.CLEAN
    assert not any(name.startswith(("fault:", "crash")) for name in outcome.counters)
    assert draw_plan(7, frozenset({"rot"})).members == draw_plan(7, frozenset()).members
