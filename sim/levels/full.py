"""The full level: SDK, engine, journal, log and drivers, with random workflows on top.

Only what lies around the engine is the simulator's: device, time, chance, threads. A seed has
two phases. First everything goes wrong that its plan draws; then there is peace, and within
it every run must end, every caller must be answered, and every promise must have been kept.
"""

from __future__ import annotations

import asyncio
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fusee.embed.programs import Registry
from fusee.testing.checkers.ledger import Ledger
from fusee.testing.checkers.messages import torn_messages
from fusee.testing.checkers.timers import early_timers
from fusee.testing.outcome import SeedOutcome, Stuck, Verdict
from fusee.testing.plan import POINTS, Peace, RandomPlan
from fusee.testing.seeds import stream
from fusee.testing.world import World
from sim.full.happened import HAPPENINGS, happened
from sim.full.service import LoggingService
from sim.full.weather import FAMILIES, draw_weather
from sim.full.witness import Witness, readable_facts
from sim.workloads.clients import Client
from sim.workloads.interpreter import workflows
from sim.workloads.programs import Author

if TYPE_CHECKING:
    from random import Random

__all__ = ["FAMILIES", "MARKS", "NAME", "WORK", "WORKLOADS", "Options", "run_seed"]

NAME: Final = "full"
WORKLOADS: Final = ("programs",)
WORK: Final = {"workflows": 15, "steps": 60, "recoveries": 1, "crashes": 1}
"""What the median seed must do at least, or the campaign is idle."""
MARKS: Final = (
    *(f"death:{point}" for point in POINTS),
    "fault:write-error", "fault:damage", "fault:garbage", "fault:evict", "fault:evict-at-work",
    "fault:close", "fault:clock", "fault:clock-back", "check:rebuilt", "check:unread",
    "refusal:AlreadyRunning", "refusal:AlreadyFinished", "refusal:WorkflowFinished",
    "mode:inline", "mode:thread", "mode:buffered", "refused-to-open",
    *HAPPENINGS, "step:timed-out",
)  # fmt: skip
HEALED_S: Final = 400_000.0
"""How much virtual time everything has to end in, once there is peace."""
POLL_S: Final = 50.0
FAULTS_S: Final = 60
"""How long things go wrong, while a process serves."""
TRACEBACK_LINES: Final = 30
CLOSES_IN_A_CALL: Final = 0.01


@dataclass(frozen=True, slots=True)
class Options:
    """What a campaign may take away from a seed."""

    without: frozenset[str] = frozenset()
    events_max: int = 400_000
    workload: str = "programs"
    clients_max: int = 4


class Seed:
    """One seed of this level, from its weather to its verdict."""

    def __init__(self, seed: int, options: Options) -> None:
        self.seed = seed
        self.options = options
        random = stream(seed, "weather")
        self.weather = draw_weather(random, options.without)
        self.ledger = Ledger()
        self._where: list[str] = []
        """Where our own code raised, as text."""
        self.service = LoggingService(self.ledger, self._closes_in_a_call)
        self._draws = stream(seed, "calls")
        self.witness = Witness(self.ledger, self.service, self.weather, stream(seed, "witness"))
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
        calls = max(8, 100 // len(self.clients))
        work = [asyncio.ensure_future(client.work(calls)) for client in self.clients]
        closing = asyncio.ensure_future(self._close_at_times())
        for _ in range(FAULTS_S):
            # A pause between two lives is not counted: it may be an hour.
            await self.world.serving()
            await self.world.sleep(1.0)
        await closing
        self.world.heal()
        self.weather.damage = self.weather.evict = 0.0
        self.weather.clock_us = 0
        self.world.wall_offset_us = max(0, self.world.wall_offset_us)
        for client in work:
            await client
        waited_s = 0.0
        while (open_count := await self.world.call(_open_count)) and waited_s < HEALED_S:
            await self.world.sleep(POLL_S)
            waited_s += POLL_S
        if open_count:
            raise Stuck(f"{open_count} runs are still open {HEALED_S:,.0f} s after the last fault")

    def _closes_in_a_call(self) -> bool:
        """Draw whether the process is asked to close in the middle of a step's call."""
        if not self.weather.closings or isinstance(self.world.plan, Peace):
            return False
        return self._draws.random() < CLOSES_IN_A_CALL

    async def _close_at_times(self) -> None:
        """Close the process in order, as a deployment does, while it is at work."""
        random = stream(self.seed, "closings")
        for _ in range(self.weather.closings):
            await self.world.sleep(random.random() * random.choice([0.05, 1.0, 10.0]))
            process = self.world.process
            if process is not None and process.is_open:
                self.world.marks.hit("fault:close")
                process.close()

    def run(self) -> SeedOutcome:
        """Run it all."""
        verdict, violations = Verdict.CLEAN, []
        world = self.world
        try:
            world.run(self.story())
            world.shut()
            facts = readable_facts(world)
            assert facts is not None, "the disk of a closed engine can be read"
            self.ledger.check(facts)
            for text in (*early_timers(facts), *torn_messages(facts)):
                self.ledger.blame(text)
        except Stuck as stuck:
            verdict, violations = Verdict.STUCK, [str(stuck)]
            world.abandon()
        except Exception as error:
            verdict, violations = Verdict.CRASHED, [f"{type(error).__name__}: {error}"]
            self._where += traceback.format_exception(error)[-TRACEBACK_LINES:]
            world.abandon()
        if world.bugs:
            verdict = Verdict.CRASHED
            violations += [repr(bug) for bug in world.bugs]
            for bug in world.bugs:
                if isinstance(bug, BaseException):
                    self._where += traceback.format_exception(bug)[-TRACEBACK_LINES:]
        if self.ledger.violations:
            verdict = Verdict.VIOLATION
            violations = self.ledger.violations + violations
        return self._outcome(verdict, violations)

    def _outcome(self, verdict: Verdict, violations: list[str]) -> SeedOutcome:
        world, facts = self.world, self.ledger.facts
        counters = self.witness.counters
        assert isinstance(world.plan, Peace | RandomPlan)
        for name, count in world.marks.counts.items():
            if name.startswith("fault:"):
                counters[name] = count
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
        for mark in happened(self.ledger):
            world.marks.hit(mark)
        settings = self.weather.settings
        if settings.is_buffered:
            world.marks.hit("mode:buffered")
        return SeedOutcome(
            self.seed,
            verdict,
            tuple(violations),
            world.trace.hash,
            dict(counters),
            world.marks.names(),
            () if verdict is Verdict.CLEAN else (*world.trace.lines(), *self._where),
        )


async def _open_count(engine: Any) -> int:
    count: int = engine.life.core.table.open_count
    return count


def run_seed(seed: int, options: Options | None = None) -> SeedOutcome:
    """Run one seed to its verdict."""
    lived = Seed(seed, options or Options())
    outcome = lived.run()
    lived.world.dismantle()
    return outcome
