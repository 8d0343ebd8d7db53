"""A crash at every call of the disk, with every fate of the write in flight, breaks no promise.

The promises are those of docs/internals/runtime.md; `tests.support.ledger` checks them at the
moment something leaves and against every later disk.
"""

from __future__ import annotations

from itertools import count

import pytest

from fusee.node.local_node import LocalNode
from tests.support.crash_device import Death, Fate
from tests.support.nodes import DyingNode, LazyNode, remade
from tests.support.shop import Shop
from tests.support.world import MakeNode, World

FATES: list[tuple[Fate, int]] = [("lost", 0), ("landed", 0), ("torn", 1), ("torn", 2)]
SLOW_NS = 500_000
"""A flush this slow is written by the writer thread."""


@pytest.mark.parametrize(("fate", "seed"), FATES)
def test_a_crash_at_any_call_of_the_disk_breaks_no_promise(fate, seed):
    for call in count(1):
        world = World(Shop())
        survived = world.live(Death(call, fate, seed))
        world.finish()
        if survived:
            break
    assert call > 20, "the scenario has shrunk: it writes too little to be a test"


@pytest.mark.parametrize(("fate", "seed"), [("landed", 0), ("torn", 3)])
def test_a_second_crash_during_recovery_breaks_no_promise(fate, seed):
    for first in range(10, 30, 4):
        for second in range(1, 24, 2):
            world = World(Shop())
            world.live(Death(first, fate, seed))
            world.live(Death(second, fate, seed + second))
            world.finish()


def test_crashes_in_life_after_life_break_no_promise():
    world = World(Shop())
    for life in count(1):
        if world.live(Death(8 + life % 9, "torn", life)) or life > 12:
            break
    world.finish()


@pytest.mark.parametrize("fate", ["lost", "landed"])
def test_a_crash_while_the_writer_thread_serves_breaks_no_promise(fate):
    for call in range(1, 40, 2):
        world = World(Shop(), flush_ns=SLOW_NS)
        survived = world.live(Death(call, fate))
        world.finish()
        if survived:
            break


def test_a_crash_while_much_waits_for_the_disk_breaks_no_promise():
    for call in count(11):
        world = World(Shop(), make_node=lambda node: remade(node, LazyNode))
        survived = world.live(Death(call))
        world.finish()
        if survived:
            break


def test_a_crash_after_any_turn_breaks_no_promise():
    for turns in count(1):
        world = World(Shop(), make_node=_dying(turns))
        survived = world.live()
        world.finish()
        if survived:
            break
    assert turns > 30, "the scenario has shrunk: it takes too few turns to be a test"


def _dying(turns: int) -> MakeNode:
    """The first life dies after so many turns."""
    lives = count(1)

    def make_node(node: LocalNode) -> LocalNode:
        doomed = remade(node, DyingNode)
        assert isinstance(doomed, DyingNode)
        doomed.turns_left = turns if next(lives) == 1 else 0
        return doomed

    return make_node
