"""A play: one application, its disk, and the lives that the script gives it.

    play.app(Checkout())
    play.at(record="Scheduled").crash("landed")
    play.live()         dies there
    play.finish()       a life without faults: everything ends, nothing was broken

It is played in the world of the full level, in virtual time. What leaves the engine goes
through `Client`, which enters it in a ledger: it must rest on durable records at that moment,
and every later disk must still have them.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

from fusee.base.errors import AcknowledgedDataLost, DirectoryRefused
from fusee.embed.programs import Registry
from fusee.engine.run import Run
from fusee.log.segment import SegmentSizes
from fusee.testing.checkers.facts import Facts, batch_of, facts_of
from fusee.testing.checkers.ledger import Ledger
from fusee.testing.checkers.leftover import leftover_timers
from fusee.testing.checkers.unread import misread_signals
from fusee.testing.checkers.views import Views
from fusee.testing.checkers.waiting import forgotten
from fusee.testing.device import SimDevice
from fusee.testing.outcome import Stuck
from fusee.testing.world import SMALL, Settings, Watcher, World
from sim.scenarios import ScenarioFailed
from sim.scenarios.apps import Client, Service
from sim.scenarios.script import Moment
from sim.scenarios.script_device import ScriptDevice

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fusee.embed.engine import Engine
    from fusee.sdk.workflow import Workflow
    from fusee.testing.disk import Disk
    from fusee.testing.process import Process

TINY = SegmentSizes(first_bytes=32 * 1024, next_bytes=32 * 1024)
LARGE = SegmentSizes(first_bytes=8 << 20, next_bytes=8 << 20)
_FAST_NS, _SLOW_NS = 80_000, 3_000_000


class App(Protocol):
    """An application: its workflows, and what its clients do in each life."""

    def workflows(self, service: Service) -> Iterable[Workflow[Any, Any]]:
        """Return the workflows; their steps call the service."""
        ...

    async def drive(self, client: Client) -> None:
        """Do what the clients of one life do; repeatable in the next one."""
        ...


class Play(Watcher):
    """The lives of one application."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.service = Service(self.ledger)
        self.world: World
        self.device: ScriptDevice
        """The disk as the present process sees it, or the last one saw it."""
        self._app: App
        self._planned: list[Moment] = []
        self._moments: list[Moment] = []
        self._views = Views()
        self._calls_before = 0
        self._ended: asyncio.Future[Process] | None = None

    # ------------------------------------------------------------ what the script says

    def app(self, app: App, *, is_slow: bool = False, sizes: SegmentSizes = SMALL) -> None:
        """Choose the application. On a slow disk much happens between append and commit."""
        self._app = app
        registry = Registry(app.workflows(self.service))
        settings = Settings(
            sizes=sizes, flush_ns=_SLOW_NS if is_slow else _FAST_NS, restart_us_max=1_000_000
        )
        self.world = World(1, lambda: registry, settings=settings, watcher=self)

    @property
    def disk(self) -> Disk:
        """What survives."""
        return self.world.disk

    def at(
        self,
        *,
        call: int = 0,
        record: str = "",
        position: int = 0,
        of: str = "",
        makes: str = "",
        nth: int = 1,
    ) -> Moment:
        """Name a moment of the next life; say what happens then on what is returned."""
        moment = Moment(call, record, position, of, makes, nth)
        self._planned.append(moment)
        self._moments.append(moment)
        return moment

    def sleep(self, time_s: float) -> None:
        """Let time pass while nobody lives."""
        self.world.scheduler.spend(round(time_s * 1e6))

    def live(self) -> bool:
        """Let a process live until it dies or its clients are done; say whether they were.

        Raises what the process raised instead of opening the directory.
        """
        try:
            return self.world.run(self._live())
        except Stuck as stuck:
            self._blame_held()
            self.ledger.blame(f"stuck: {stuck}")
            raise ScenarioFailed("\n  ".join(self.ledger.violations)) from stuck

    def finish(self) -> None:
        """Live without faults to the end, where nothing may be left over."""
        if not self.live():
            self.ledger.blame("without faults the clients do not come to their end")
        facts = self._facts()
        if facts is not None:
            self.ledger.check(facts)

    def check(self) -> None:
        """Raise `ScenarioFailed` unless every promise held and every moment came."""
        self.world.abandon()
        for bug in self.world.bugs:
            self.ledger.blame(f"our own code raised {bug!r}")
        if self.ledger.violations:
            raise ScenarioFailed("\n  ".join(dict.fromkeys(self.ledger.violations)))
        missed = [str(moment) for moment in self._moments if not moment.has_come]
        if missed:
            raise ScenarioFailed(f"the moment never came: {', '.join(missed)}")

    # ------------------------------------------------------------ one life

    async def _live(self) -> bool:
        ended = self._ended = self.world.outside.create_future()
        driving = asyncio.ensure_future(self.world.attempt(self._drive, _unseen))
        await asyncio.wait((driving, ended), return_when=asyncio.FIRST_COMPLETED)
        if not driving.done():
            await self.world.sleep(0.001)  # Whoever waits for an answer hears that the line broke.
        if not driving.done():
            driving.cancel()
        elif (answer := driving.result()) is not None:
            if answer[1] is not None:
                raise answer[1]
            if not ended.done() and self.world.process is not None:
                self.world.process.close()
            await ended
            return True
        process = await ended
        if process.refusal is not None:
            raise process.refusal
        return False

    def _drive(self, engine: Engine) -> Any:
        return self._app.drive(Client(self, engine, self.ledger))

    # ------------------------------------------------------------ Watcher

    def on_boot(self, process: Process) -> None:
        """A life begins: what is durable is what the disk says."""
        moments, self._planned = self._planned, []
        self.device = process.device = ScriptDevice(process, moments)
        self.ledger.life = process.number
        self._views.begin_life()
        self._calls_before = len(self.service.calls)
        facts = self._facts()
        if facts is not None:
            self.ledger.check(facts)

    def on_durable(self, process: Process, file: str, offset: int, data: bytes) -> None:
        """Learn what has become durable."""
        batch = batch_of(file, offset, data)
        if batch is not None:
            self.ledger.facts.add(batch)
            if wrong := self._views.note(batch.view):
                self.ledger.blame(wrong)

    def on_end(self, process: Process) -> None:
        """Check how a life has ended."""
        is_orderly = process.refusal is None and not self.device.is_off
        stopped = process.engine.stopped
        is_faulty = any(moment.deed != "crash" and moment.has_come for moment in self._moments)
        if is_orderly and stopped is None:
            self._closed_well(process.engine)
        elif is_orderly and not is_faulty:
            self.ledger.blame(f"the engine stopped: {stopped!r}")
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(process)

    def _facts(self) -> Facts | None:
        try:
            return facts_of(SimDevice(self.disk.clone()))
        except (AcknowledgedDataLost, DirectoryRefused):
            return None  # It is damaged: then the opening has to say so.

    def _closed_well(self, engine: Engine) -> None:
        """After an orderly close what functions brought is recorded."""
        facts, life = self.ledger.facts, engine.life
        cut_off = {attempt.key for attempt in life.runner.running}
        for call in self.service.calls[self._calls_before :]:
            known = call.key in facts.completed or (
                facts.attempts_failed.get(call.key, 0) >= call.attempt
            )
            if not known and call.key in facts.scheduled and call.key not in cut_off:
                self.ledger.blame(f"step {call.key} ended before an orderly close, unrecorded")

    def on_idle(self, process: Process) -> None:
        """Look into the process while nothing moves."""
        core = process.engine.life.core
        for text in (*forgotten(core), *leftover_timers(core), *misread_signals(core).wrong):
            self.ledger.blame(text)

    def _blame_held(self) -> None:
        process = self.world.process
        if process is None or not process.is_open:
            return
        for run in process.engine.life.core.table.all():
            if isinstance(run, Run) and run.held is not None:
                self.ledger.blame(f"run {run.key} is held: {run.held.text.splitlines()[0]}")


def _unseen(process: Process, value: object, error: BaseException | None) -> None:
    """The clients have checked their answers themselves."""
