"""A crash at every call of the disk, with every fate of the write in flight, breaks no promise.

The promises are those of docs/internals/runtime.md; `tests.support.ledger` checks them at the
moment something leaves and against every later disk.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import count
from random import Random

import pytest

from fusee.log.segment import SegmentSizes
from fusee.node.local_node import LocalNode
from tests.support.crash_device import Death, Failure, Fate
from tests.support.nodes import DyingNode, LazyNode, remade
from tests.support.shop import Shop
from tests.support.world import SMALL, MakeNode, World

FATES: list[tuple[Fate, int]] = [("lost", 0), ("landed", 0), ("torn", 1), ("torn", 2)]
FAST_NS, SLOW_NS = 100_000, 500_000
"""A flush this slow is written by the writer thread."""
TINY = SegmentSizes(first_bytes=32 * 1024, next_bytes=32 * 1024)


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


@pytest.mark.parametrize(("fate", "seed"), [("lost", 0), ("torn", 5)])
def test_a_crash_at_any_call_of_a_log_of_tiny_segments_breaks_no_promise(fate, seed):
    """Segments are made, on a thread, all the time: their making is cut off too."""
    for call in count(11):
        world = World(Shop(), sizes=TINY)
        survived = world.live(Death(call, fate, seed))
        world.finish()
        if survived:
            break


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100))
def test_random_lives_break_no_promise(seed):
    random = Random(seed)
    make_node = random.choice([None, lambda node: remade(node, LazyNode)])
    world = World(
        Shop(),
        flush_ns=random.choice([FAST_NS, SLOW_NS]),
        sizes=random.choice([SMALL, TINY]),
        make_node=make_node,
    )
    for _ in range(random.choice([1, 2, 3, 5])):
        call = random.randrange(1, 45)
        if random.random() < 0.2:
            with suppress(OSError):
                world.live(failure=Failure(call, landed_bytes=random.choice([0, 512, 4096])))
        else:
            fate = random.choice(["lost", "landed", "torn", "torn"])
            world.live(Death(call, fate, random.randrange(1 << 30)))
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
