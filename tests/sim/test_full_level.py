"""The full level: its marks tell what happened, not what was drawn."""

from __future__ import annotations

from typing import Any

import pytest

from fusee.embed.programs import Registry
from fusee.io.submit_mode import SubmitMode
from fusee.log.segment import segment_number
from fusee.testing.checkers.ledger import Ledger
from fusee.testing.checkers.rebuilt import differences
from fusee.testing.checkers.unread import misread_signals
from fusee.testing.client import SimEngine
from fusee.testing.device import SimDevice
from fusee.testing.world import Watcher, World
from sim.full.happened import HAPPENINGS, happened
from sim.levels import full
from sim.levels.full import Options
from tests.testing.test_findings import go, waits

ONE_LIFE = frozenset({"crash", "flush-fail", "close", "damage", "garbage"})


@pytest.mark.parametrize(("uses_thread", "mark"), [(True, "mode:thread"), (False, "mode:inline")])
def test_how_writes_went_is_marked_as_it_was(monkeypatch, uses_thread, mark):
    monkeypatch.setattr(SubmitMode, "uses_thread", lambda self, now_ns: uses_thread)

    for seed in range(8):  # Of disks that are fast, and of some that are slow.
        marks = full.run_seed(seed).marks
        assert [name for name in marks if name in ("mode:thread", "mode:inline")] == [mark]


def test_a_clock_has_jumped_only_if_a_process_had_seen_it_before():
    for seed in range(12):
        lived = full.Seed(seed, Options(without=ONE_LIFE))
        lived.weather.clock_us = 3_600_000_000
        assert not [name for name in lived.run().marks if name.startswith("fault:clock")]
        assert lived.world.lives == 1
        lived.world.dismantle()


class Rots(Watcher):
    """Lets one bit rot between two lives, and hears who meets it."""

    def __init__(self, is_it, place: int) -> None:
        self.met: list[tuple[int, int]] = []
        self.rotten: tuple[int, int] | None = None
        self._is_it = is_it
        self._place = place

    def on_boot(self, process) -> None:
        disk = process.world.disk
        if process.number == 2:
            name = next(filter(self._is_it, sorted(disk.names)))
            disk.flip_bit(name, self._place, 0)
            self.rotten = (disk.names[name].number, self._place // 512)

    def on_damage_read(self, process, file: int, unit: int) -> None:
        self.met.append((file, unit))


def is_segment(name: str) -> bool:
    return segment_number(name) is not None


@pytest.mark.parametrize(
    ("is_it", "place", "is_met"),
    [
        (lambda name: name == "superblock", 100, True),
        (is_segment, 40_000, True),
        (lambda name: name == "unrelated", 100, False),
    ],
)
def test_damage_is_heard_of_when_a_process_asks_for_it(is_it, place, is_met):
    rots = Rots(is_it, place)
    world = World(1, lambda: Registry([waits]), watcher=rots)
    world.disk.add("unrelated", bytearray(4096))

    async def story() -> None:
        await SimEngine(world).start(waits, "w-1")
        world.crash()
        await world.sleep(2.0)

    world.run(story())
    world.abandon()

    assert rots.rotten is not None
    assert set(rots.met) == ({rots.rotten} if is_met else set())


def test_damage_that_was_done_is_not_yet_damage_that_was_met():
    lived = full.Seed(1, Options())
    witness, marks = lived.witness, lived.world.marks
    lived.world.disk.add("segment-000000000001", bytearray(65536))
    witness._newest_frame = ("segment-000000000001", 65536)
    process: Any = None

    witness._damage()
    assert not marks.counts
    for name, unit, _ in lived.world.disk.damaged():
        witness.on_damage_read(process, lived.world.disk.names[name].number, unit)
    assert marks.names() == ("fault:damage",)
    witness.on_damage_read(process, 99, 1)
    assert marks.names() == ("fault:damage", "fault:garbage")


def test_checkers_that_had_nothing_to_compare_say_so():
    counts: list[tuple[int, int]] = []
    world = World(1, lambda: Registry([waits]))

    def look() -> None:
        assert world.process is not None
        core = world.process.engine.life.core
        rebuilt, unread = differences(core.table, SimDevice(world.disk)), misread_signals(core)
        assert [*rebuilt.wrong, *unread.wrong] == []
        counts.append((rebuilt.count, unread.count))

    async def story() -> None:
        await world.serving()
        look()
        run = await SimEngine(world).start(waits, "w-1")
        await SimEngine(world).start(waits, "w-2")
        await world.sleep(1.0)
        look()
        for number in (1, 2):
            await run.signal("unheard", number)
        await world.sleep(1.0)
        look()
        await run.signal(go, 1)
        await run.result()
        await world.sleep(1.0)
        look()

    world.run(story())
    world.shut()

    assert counts == [(0, 0), (2, 0), (2, 1), (2, 0)]


def test_an_empty_seed_has_no_happenings_and_a_few_seeds_have_all():
    assert not [*happened(Ledger())]

    found = {mark for seed in range(6) for mark in full.run_seed(seed).marks}
    assert {*HAPPENINGS, "step:timed-out"} <= found
