"""Who watches the lives of a seed: keeps what is durable, and asks the checkers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from fusee.base.errors import AcknowledgedDataLost, DirectoryRefused
from fusee.base.limits import BATCH_CLOSE_BYTES
from fusee.log.segment import segment_number
from fusee.testing.checkers.closed import unrecorded
from fusee.testing.checkers.facts import Facts, batch_of, facts_of
from fusee.testing.checkers.leftover import leftover_timers
from fusee.testing.checkers.messages import torn_messages
from fusee.testing.checkers.rebuilt import differences
from fusee.testing.checkers.unread import misread_signals
from fusee.testing.checkers.views import Views
from fusee.testing.checkers.waiting import forgotten
from fusee.testing.device import SimDevice
from fusee.testing.plan import RandomPlan
from fusee.testing.world import Watcher, World

if TYPE_CHECKING:
    from random import Random

    from fusee.testing.checkers.ledger import Ledger
    from fusee.testing.process import Process
    from sim.full.service import LoggingService
    from sim.full.weather import Weather

DOOMED: Final = 0.5
"""How often a process dies between a large batch and the next one."""
EVICTED_AT_WORK: Final = 0.01
"""How often runs leave memory while others wait for their turn."""


class Witness(Watcher):
    """Keeps the ledger's facts, and asks the checkers that look into the process."""

    def __init__(
        self, ledger: Ledger, service: LoggingService, weather: Weather, random: Random
    ) -> None:
        self._ledger = ledger
        self._service = service
        self._weather = weather
        self._views = Views()
        self._random = random
        self.world: World
        self.counters: Counter[str] = Counter()
        self._newest_frame = ("", 0)
        self._damaged: set[tuple[int, int]] = set()
        """File and unit of what was damaged at rest; what a crash leaves is garbage."""
        self._met: set[tuple[int, int]] = set()
        self._ended_us = 0
        """The machine's time at the end of the last life."""
        self._is_sealed = True
        """Whether nothing but a seal follows the newest batch of this life."""

    def on_boot(self, process: Process) -> None:
        """Damage what the last life left, if the weather says so; then read what is there."""
        self._views.begin_life()
        self._service.ended.clear()
        self._is_sealed = True
        world, ledger = self.world, self._ledger
        ledger.life = process.number
        if world.lives > 1 and self._random.random() < self._weather.damage:
            self._damage()
        facts = readable_facts(world)
        if facts is not None:
            ledger.check(facts)
            for text in torn_messages(facts):
                ledger.blame(text)
        elif world.lives == 1:
            ledger.facts = Facts()
        self._set_clock()

    def _set_clock(self) -> None:
        """Let the machine come back with another time, if the weather says so."""
        world, clock_us = self.world, self._weather.clock_us
        if not clock_us or self._random.random() >= 0.3:
            return
        before_us = world.wall_offset_us
        world.wall_offset_us = self._random.randrange(-clock_us, clock_us)
        if world.lives == 1 or world.wall_offset_us == before_us:
            return  # Nobody has seen another time.
        world.marks.hit("fault:clock")
        if world.now_us + world.wall_offset_us < self._ended_us:
            world.marks.hit("fault:clock-back")

    def _damage(self) -> None:
        """Let a few units rot: in their places, or unreadable. The next opening must see it.

        Never in the newest durable frame: nothing later tells it from a write that was cut
        off, and one disk alone cannot keep what it holds in one place only.
        """
        random, disk = self._random, self.world.disk
        newest, end = self._newest_frame
        segments = [
            name for name in disk.names if segment_number(name) is not None and name <= newest
        ]
        if not segments:
            return
        for _ in range(random.randint(1, 2)):
            name = random.choice(sorted(segments))
            units = (end if name == newest else len(disk.names[name].image)) // 512
            unit = random.randrange(min(units, 200))
            if random.random() < 0.5:
                disk.flip_bit(name, unit * 512 + random.randrange(512), random.randrange(8))
            else:
                disk.make_unreadable(name, unit)
            place = (disk.names[name].number, unit)
            self._damaged.add(place)
            self._met.discard(place)

    def on_damage_read(self, process: Process, file: int, unit: int) -> None:
        """Note that damage was met, and not only done."""
        if (file, unit) in self._met:
            return
        self._met.add((file, unit))
        kind = "damage" if (file, unit) in self._damaged else "garbage"
        self.world.marks.hit(f"fault:{kind}")

    def on_durable(self, process: Process, file: str, offset: int, data: bytes) -> None:
        """Learn what has become durable."""
        is_frame = segment_number(file) is not None
        batch = batch_of(file, offset, data)
        if is_frame:
            self._newest_frame = (file, offset)
            self._is_sealed = batch is None
        if batch is not None:
            self._ledger.facts.add(batch)
            if wrong := self._views.note(batch.view):
                self._ledger.blame(wrong)
            self.counters["batches"] += 1
            self._maybe_doom(len(data))

    def _maybe_doom(self, size_bytes: int) -> None:
        """Let the process die before the next write, now and then, if this batch was a full one.

        What did not fit comes next; it must not be the other half of something.
        """
        plan = self.world.plan
        if size_bytes < BATCH_CLOSE_BYTES // 2 or not isinstance(plan, RandomPlan):
            return
        if self._weather.chances and self._random.random() < DOOMED:
            plan.doomed = "before-write"

    def on_turned(self, process: Process) -> None:
        """Let runs leave memory in the middle of things: what waits for its turn must be kept."""
        if self._weather.evict and self._random.random() < EVICTED_AT_WORK:
            self.world.marks.hit("fault:evict-at-work")
            process.evict(lambda: self._random.random() < 0.5)

    def on_idle(self, process: Process) -> None:
        """Look into the process while nothing moves."""
        core = process.engine.life.core
        random = self._random
        for text in (*forgotten(core), *leftover_timers(core)):
            self._ledger.blame(text)
        node = process.engine.life.assembly.node
        disk = self.world.disk
        if not node.uncommitted and random.random() < 0.002 and not disk.has_damage():
            self.counters["rebuilds"] += 1
            device = SimDevice(disk)
            for name, compared in (
                ("rebuilt", differences(core.table, device)),
                ("unread", misread_signals(core)),
            ):
                if compared.count:
                    self.world.marks.hit(f"check:{name}")
                for text in compared.wrong:
                    self._ledger.blame(text)
        if random.random() < self._weather.evict:
            self.world.marks.hit("fault:evict")
            process.evict()

    def on_end(self, process: Process) -> None:
        """Ask how the life ended: in order, or by refusing to open."""
        self._ended_us = self.world.now_us + self.world.wall_offset_us
        refusal = process.refusal
        if refusal is not None:
            self._refused(process, refusal)
        elif process.was_closed:
            self.counters["closings"] += 1
            for text in unrecorded(self._ledger.facts, self._service.ended):
                self._ledger.blame(text)
            log = process.engine.life.assembly.log
            # A seal that waits for a segment still being made is not worth waiting for.
            if not self._is_sealed and not (log is not None and log.busy):
                self._ledger.blame("an orderly close left no seal behind the last batch")

    def _refused(self, process: Process, refusal: BaseException) -> None:
        """Refusing must have a cause, and mending the cause must mend it."""
        disk = self.world.disk
        self.world.marks.hit("refused-to-open")
        self.counters["refusals_to_open"] += 1
        if not disk.has_damage():
            self._ledger.blame(f"opening refused a sound disk: {refusal}")
            return
        self._weather.damage = 0.0
        disk.heal()
        self._damaged.clear()
        self._met.clear()
        process.refusal = None


def readable_facts(world: World) -> Facts | None:
    """Return what a disk knows, None where it is damaged or holds nothing yet."""
    try:
        return facts_of(SimDevice(world.disk))
    except (AcknowledgedDataLost, DirectoryRefused, OSError):
        return None  # It is damaged: then the opening has to say so.
