"""The full level: SDK, engine, journal, log and drivers, with random workflows on top.

Only what lies around the engine is the simulator's: device, time, chance, threads. A seed has
two phases. First everything goes wrong that its plan draws; then there is peace, and within
it every run must end, every caller must be answered, and every promise must have been kept.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from fusee.base.errors import AcknowledgedDataLost, DirectoryRefused
from fusee.embed.programs import Registry
from fusee.log.segment import SegmentSizes, segment_number
from fusee.sdk.current import current_step
from fusee.testing.checkers.facts import Facts, batch_of, facts_of
from fusee.testing.checkers.ledger import Ledger
from fusee.testing.checkers.leftover import leftover_timers
from fusee.testing.checkers.rebuilt import differences
from fusee.testing.checkers.timers import early_timers
from fusee.testing.checkers.unread import misread_signals
from fusee.testing.checkers.views import Views
from fusee.testing.checkers.waiting import forgotten
from fusee.testing.device import PowerLost, SimDevice
from fusee.testing.outcome import SeedOutcome, Verdict
from fusee.testing.plan import Peace, RandomPlan
from fusee.testing.seeds import stream
from fusee.testing.world import Settings, Stuck, Watcher, World
from sim.workloads.clients import Client
from sim.workloads.interpreter import workflows
from sim.workloads.programs import Author

if TYPE_CHECKING:
    from random import Random

    from fusee.testing.process import Process

NAME: Final = "full"
FAMILIES: Final = ("crash", "flush-fail", "garbage", "damage", "evict", "clock", "slow", "ties")
"""Kinds of faults that a command line can switch off."""
MARKS: Final = (
    *(f"death:{point}" for point in (
        "before-write", "in-write", "after-write", "append", "iteration",
        "before-call", "after-call", "before-ack", "after-ack",
    )),
    "fault:write-error", "fault:damage", "fault:evict", "fault:clock",
    "refusal:AlreadyRunning", "refusal:AlreadyFinished", "refusal:WorkflowFinished",
    "mode:inline", "mode:thread", "mode:buffered", "refused-to-open",
)  # fmt: skip
HEALED_S: Final = 400_000.0
"""How much virtual time everything has to end in, once there is peace."""
POLL_S: Final = 50.0


@dataclass(frozen=True, slots=True)
class Options:
    """What a campaign may take away from a seed."""

    without: frozenset[str] = frozenset()
    events_max: int = 400_000
    workload: str = "programs"
    clients_max: int = 4


@dataclass(slots=True)
class Weather:
    """What one seed draws: which faults there are, and how often."""

    chances: dict[str, float] = field(default_factory=dict[str, float])
    flush_fail: float = 0.0
    damage: float = 0.0
    evict: float = 0.0
    clock_us: int = 0
    settings: Settings = field(default_factory=Settings)


def draw_weather(random: Random, without: frozenset[str]) -> Weather:
    """Draw a seed's faults: four of five seeds lack whole families, the fifth has all a little."""
    is_swarm = random.random() < 0.8

    def family(name: str) -> bool:
        drawn = random.random() < 0.5 if is_swarm else True
        return drawn and name not in without

    chances: dict[str, float] = {}
    strength = random.choice([0.02, 0.05, 0.15]) if is_swarm else 0.04
    points = (
        ("before-write", 1.0), ("in-write", 1.5), ("after-write", 1.0), ("append", 0.5),
        ("iteration", 0.05), ("before-call", 0.5), ("after-call", 1.5), ("before-ack", 2.0),
        ("after-ack", 1.0),
    )  # fmt: skip
    for point, share in points:
        if (not is_swarm or random.random() < 0.6) and "crash" not in without:
            chances[point] = strength * share
    flush_ns = random.choice([60_000, 80_000, 150_000, *([500_000, 3_000_000] * family("slow"))])
    # The largest batch must fit a segment, as with the real sizes it does by far.
    sizes = random.choice([(128, 256), (256, 256), (128, 2048)])
    return Weather(
        chances,
        random.choice([0.005, 0.03]) if family("flush-fail") else 0.0,
        random.choice([0.1, 0.4]) if family("damage") else 0.0,
        random.choice([0.01, 0.06]) if family("evict") else 0.0,
        random.choice([1_000, 10_000_000, 3_600_000_000]) if family("clock") else 0,
        Settings(
            sizes=SegmentSizes(first_bytes=sizes[0] * 1024, next_bytes=sizes[1] * 1024),
            flush_ns=flush_ns,
            is_buffered=random.random() < 0.3,
            garbage=0.2 if family("garbage") else 0.0,
            sync_threads=random.choice([1, 4]),
            async_steps=random.choice([2, 1000]),
            clock_look_s=1.0,
            restart_us_max=random.choice([1_000, 1_000_000, 3_600_000_000]),
            shuffles_ties=family("ties") and random.random() < 0.3,
        ),
    )


class LoggingService:
    """What the steps of all lives call: answers differently each time, and forgets nothing."""

    def __init__(self, ledger: Ledger) -> None:
        self.calls = 0
        self.world: World
        self._ledger = ledger

    def call(self, *, is_read_only: bool = False, **given: Any) -> str:
        """Be called by a step function, as the first thing it does."""
        process = self.world.process
        if process is None or not process.is_alive:
            raise PowerLost
        process.point("before-call")
        step = current_step()
        self.calls += 1
        if not is_read_only:
            self._ledger.on_input(step.key, step.attempt, given)
        self.world.trace.add(self.world.now_us, "call", step.key, step.attempt)
        process.point("after-call")
        return f"{step.key}#{self.calls}"


class Witness(Watcher):
    """Keeps the ledger's facts, and asks the checkers that look into the process."""

    def __init__(self, ledger: Ledger, weather: Weather, random: Random) -> None:
        self._ledger = ledger
        self._weather = weather
        self._views = Views()
        self._random = random
        self.world: World
        self.counters: Counter[str] = Counter()
        self._newest_frame = ("", 0)

    def on_boot(self, process: Process) -> None:
        """Damage what the last life left, if the weather says so; then read what is there."""
        self._views.begin_life()
        world, ledger = self.world, self._ledger
        ledger.life = process.number
        if world.lives > 1 and self._random.random() < self._weather.damage:
            self._damage()
        facts = _readable_facts(world)
        if facts is not None:
            ledger.check(facts)
        elif world.lives == 1:
            ledger.facts = Facts()
        if self._weather.clock_us and self._random.random() < 0.3:
            world.marks.hit("fault:clock")
            world.wall_offset_us = self._random.randrange(
                -self._weather.clock_us, self._weather.clock_us
            )

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
        self.world.marks.hit("fault:damage")
        self.counters["fault:damage"] += 1
        for _ in range(random.randint(1, 2)):
            name = random.choice(sorted(segments))
            units = (end if name == newest else len(disk.names[name].image)) // 512
            unit = random.randrange(min(units, 200))
            if random.random() < 0.5:
                disk.flip_bit(name, unit * 512 + random.randrange(512), random.randrange(8))
            else:
                disk.make_unreadable(name, unit)

    def on_durable(self, process: Process, file: str, offset: int, data: bytes) -> None:
        """Learn what has become durable."""
        if segment_number(file) is not None:
            self._newest_frame = (file, offset)
        batch = batch_of(file, offset, data)
        if batch is not None:
            self._ledger.facts.add(batch)
            if wrong := self._views.note(batch.view):
                self._ledger.blame(wrong)
            self.counters["batches"] += 1

    def on_idle(self, process: Process) -> None:
        """Look into the process while nothing moves."""
        core = process.engine.life.core
        random = self._random
        for text in (*forgotten(core), *leftover_timers(core)):
            self._ledger.blame(text)
        node = process.engine.life.assembly.node
        disk = self.world.disk
        if not node.uncommitted and random.random() < 0.008 and not disk.has_damage():
            self.counters["rebuilds"] += 1
            device = SimDevice(disk)
            for text in (*differences(core.table, device), *misread_signals(core)):
                self._ledger.blame(text)
        if random.random() < self._weather.evict:
            self.world.marks.hit("fault:evict")
            process.evict()

    def on_end(self, process: Process) -> None:
        """Opening refused: that must have a cause, and mending the cause must mend it."""
        refusal = process.refusal
        if refusal is None:
            return
        disk = self.world.disk
        self.world.marks.hit("refused-to-open")
        self.counters["refusals_to_open"] += 1
        if not disk.has_damage():
            self._ledger.blame(f"opening refused a sound disk: {refusal}")
            return
        self._weather.damage = 0.0
        disk.heal()
        process.refusal = None


def _readable_facts(world: World) -> Facts | None:
    try:
        return facts_of(SimDevice(world.disk))
    except (AcknowledgedDataLost, DirectoryRefused, OSError):
        return None  # It is damaged: then the opening has to say so.


class Seed:
    """One seed of this level, from its weather to its verdict."""

    def __init__(self, seed: int, options: Options) -> None:
        self.seed = seed
        self.options = options
        random = stream(seed, "weather")
        self.weather = draw_weather(random, options.without)
        self.ledger = Ledger()
        self.service = LoggingService(self.ledger)
        self.witness = Witness(self.ledger, self.weather, stream(seed, "witness"))
        self.registry = Registry(workflows(self.service))
        self.world = World(
            seed,
            lambda: self.registry,
            plan=RandomPlan(
                stream(seed, "plan"),
                self.weather.chances,
                self.weather.flush_fail,
                deaths_max=random.choice([4, 12, 30]),
            ),
            settings=self.weather.settings,
            watcher=self.witness,
            events_max=options.events_max,
        )
        self.service.world = self.witness.world = self.world
        draws = stream(seed, "clients")
        self.clients = self._clients(draws, draws.randint(1, options.clients_max))

    def _clients(self, random: Random, count: int) -> list[Client]:
        ids = [f"order-{number}" for number in range(random.choice([3, 5, 12]))]
        workflow = self.registry.newest("perform")
        return [
            Client(
                self.world,
                self.ledger,
                workflow,
                Author(random, ids, has_big=self.weather.settings.sizes.next_bytes > 1 << 20),
                stream(self.seed, f"client {number}"),
                ids,
            )
            for number in range(count)
        ]

    async def story(self) -> None:
        """Phase one: clients at work under faults. Phase two: peace, and everything ends."""
        calls = max(8, 84 // len(self.clients))
        work = [asyncio.ensure_future(client.work(calls)) for client in self.clients]
        await self.world.sleep(60.0)
        self.world.plan = Peace()
        self.weather.damage = self.weather.evict = 0.0
        self.weather.clock_us = 0
        self.world.wall_offset_us = max(0, self.world.wall_offset_us)
        await asyncio.gather(*work)
        waited_s = 0.0
        while (open_count := await self.world.call(_open_count)) and waited_s < HEALED_S:
            await self.world.sleep(POLL_S)
            waited_s += POLL_S
        if open_count:
            raise Stuck(f"{open_count} runs are still open {HEALED_S:,.0f} s after the last fault")

    def run(self) -> SeedOutcome:
        """Run it all."""
        verdict, violations = Verdict.CLEAN, []
        world = self.world
        try:
            world.run(self.story())
            world.shut()
            facts = _readable_facts(world)
            assert facts is not None, "the disk of a closed engine can be read"
            self.ledger.check(facts)
            for text in early_timers(facts):
                self.ledger.blame(text)
        except Stuck as stuck:
            verdict, violations = Verdict.STUCK, [str(stuck)]
            world.abandon()
        except Exception as error:
            verdict, violations = Verdict.CRASHED, [f"{type(error).__name__}: {error}"]
            world.abandon()
        if world.bugs:
            verdict = Verdict.CRASHED
            violations += [repr(bug) for bug in world.bugs]
        if self.ledger.violations:
            verdict = Verdict.VIOLATION
            violations = self.ledger.violations + violations
        return self._outcome(verdict, violations)

    def _outcome(self, verdict: Verdict, violations: list[str]) -> SeedOutcome:
        world, facts = self.world, self.ledger.facts
        counters = self.witness.counters
        assert isinstance(world.plan, Peace | RandomPlan)
        counters["lives"] = world.lives
        counters["recoveries"] = world.recoveries
        counters["crashes"] = sum(
            count for name, count in world.marks.counts.items() if name.startswith("death:")
        )
        counters["workflows"] = len(facts.started)
        counters["steps"] = len(facts.completed)
        counters["calls"] = self.service.calls
        counters["events"] = world.scheduler.events_run
        for kind, count in self.ledger.refusals.items():
            world.marks.hit(f"refusal:{kind}", count)
        settings = self.weather.settings
        world.marks.hit("mode:thread" if settings.flush_ns > 300_000 else "mode:inline")
        if settings.is_buffered:
            world.marks.hit("mode:buffered")
        return SeedOutcome(
            self.seed,
            verdict,
            tuple(violations),
            world.trace.hash,
            dict(counters),
            world.marks.names(),
            () if verdict is Verdict.CLEAN else world.trace.lines(),
        )


async def _open_count(engine: Any) -> int:
    count: int = engine.life.core.table.open_count
    return count


def run_seed(seed: int, options: Options | None = None) -> SeedOutcome:
    """Run one seed to its verdict."""
    return Seed(seed, options or Options()).run()
