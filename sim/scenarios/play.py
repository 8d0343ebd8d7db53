"""A play: one application, its disk, and the lives that the script gives it.

    play.app(Checkout())
    play.at(record="Scheduled").crash("landed")
    play.live()         dies there
    play.finish()       a life without faults: everything ends, nothing was broken

What leaves the engine goes through `Client`, which enters it in a ledger: it must rest on
durable records at that moment, and every later disk must still have them.

The full level of the simulator serves the same words.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from fusee.base.errors import EngineStopped
from fusee.embed.assembly import Assembly, assemble_on
from fusee.embed.engine import Engine
from fusee.embed.programs import Registry
from fusee.engine.run import Run
from fusee.log.segment import SegmentSizes
from sim.scenarios import ScenarioFailed
from sim.scenarios.apps import Client
from sim.scenarios.script import Moment
from sim.scenarios.script_device import ScriptDevice
from tests.support.facts import facts_of
from tests.support.ledger import ExternalService, Ledger
from tests.support.nodes import LazyNode, remade
from tests.support.ram_device import PowerLost
from tests.support.world import SMALL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fusee.sdk.workflow import Workflow

TINY = SegmentSizes(first_bytes=32 * 1024, next_bytes=32 * 1024)
_LOOK_S = 0.005
_IDLE_LOOKS = 40
"""So many looks in a row that find nothing to do mean that nothing will ever happen."""
logging.getLogger("fusee").addHandler(logging.NullHandler())
logging.getLogger("fusee").propagate = False


class App(Protocol):
    """An application: its workflows, and what its clients do in each life."""

    def workflows(self, service: ExternalService) -> Iterable[Workflow[Any, Any]]:
        """Return the workflows; their steps call the service."""
        ...

    async def drive(self, client: Client) -> None:
        """Do what the clients of one life do; repeatable in the next one."""
        ...


class Play:
    """The lives of one application."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.service = ExternalService(self.ledger)
        self.requests: dict[str, int] = {}
        """Which run each start led to."""
        self.disk = ScriptDevice()
        self.engine: Engine
        self.is_faulty = False
        """The script lets the disk fail in this life: the engine may stop."""
        self._app: App
        self._registry: Registry
        self._sizes = SMALL
        self._rest = 0
        self._planned: list[Moment] = []
        self._moments: list[Moment] = []

    # ------------------------------------------------------------ what the script says

    def app(self, app: App, *, lazy: int = 0, sizes: SegmentSizes = SMALL) -> None:
        """Choose the application. With `lazy` the disk is written at every so many chances."""
        self._app = app
        self._rest = lazy
        self._sizes = sizes
        self._registry = Registry(app.workflows(self.service))

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
        return moment

    def live(self) -> bool:
        """Let a process live until it dies or its clients are done; say whether they were."""
        ledger = self.ledger
        before = max(self.disk.views, default=0)
        self.disk = self.disk.next_life()
        self.disk.moments, self._planned = self._planned, []
        self._moments += self.disk.moments
        self.is_faulty = any(moment.deed != "crash" for moment in self.disk.moments)
        facts = facts_of(self.disk)
        ledger.life += 1
        ledger.check(facts)
        ledger.facts = facts
        self.disk.told.append(facts.on_write)
        has_finished = False
        with suppress(PowerLost):
            has_finished = asyncio.run(self._live())
        if min(self.disk.views, default=before + 1) <= before:
            ledger.blame(f"wrote in view {min(self.disk.views)} after view {before}")
        ledger.check(facts_of(self.disk.next_life()))
        return has_finished

    def finish(self) -> None:
        """Live without faults to the end, where nothing may be left over."""
        if not self.live():
            self.ledger.blame("without faults the clients do not come to their end")

    def check(self) -> None:
        """Raise `ScenarioFailed` unless every promise held and every moment came."""
        if self.ledger.violations:
            raise ScenarioFailed("\n  ".join(dict.fromkeys(self.ledger.violations)))
        missed = [str(moment) for moment in self._moments if not moment.has_come]
        if missed:
            raise ScenarioFailed(f"the moment never came: {', '.join(missed)}")

    # ------------------------------------------------------------ one life

    def _assemble(self, clock: Any, wake: Any) -> Assembly:
        assembly = assemble_on(self.disk, None, clock, wake, sizes=self._sizes)
        if self._rest:
            assembly.node = remade(assembly.node, _lazy(self._rest))
        return assembly

    async def _live(self) -> bool:
        asyncio.get_running_loop().set_exception_handler(_ignore_power_lost)
        engine = self.engine = Engine(self._assemble, self._registry, drain_s=2.0)
        has_finished = False
        calls_before = len(self.service.calls)
        async with engine:
            try:
                has_finished = await self._drive(engine)
            except EngineStopped:
                if engine.stopped is None and not self.disk.is_dead:
                    has_finished = True  # The application closed it.
        if self.disk.is_dead:
            return False
        if engine.stopped is not None and not self.is_faulty:
            self.ledger.blame(f"the engine stopped: {engine.stopped!r}")
            return False
        if engine.stopped is None:
            self._closed_well(engine, calls_before)
        return has_finished and engine.stopped is None

    async def _drive(self, engine: Engine) -> bool:
        client = Client(self, engine, self.ledger)
        driving = asyncio.ensure_future(self._app.drive(client))
        watching = asyncio.ensure_future(self._watch(engine))
        await asyncio.wait((driving, watching), return_when=asyncio.FIRST_COMPLETED)
        watching.cancel()
        if driving.done():
            await driving
            return True
        driving.cancel()
        self.ledger.blame(watching.result())
        return False

    async def _watch(self, engine: Engine) -> str:
        """Return why nothing will ever happen any more."""
        idle = 0
        while idle < _IDLE_LOOKS:
            await asyncio.sleep(_LOOK_S)
            life = engine.life
            core, runner = life.core, life.runner
            for run in core.table.all():
                if isinstance(run, Run) and run.held is not None:
                    return f"run {run.key} is held: {run.held.text.splitlines()[0]}"
            is_busy = (
                core.ready
                or core.starting
                or core.timers.live
                or runner.running
                or runner.has_waiting
                or (life.assembly.node.uncommitted and engine.stopped is None)
            )
            idle = 0 if is_busy else idle + 1
        return "stuck: the clients wait, and nothing is under way"

    def _closed_well(self, engine: Engine, calls_before: int) -> None:
        """After an orderly close: what functions brought is recorded, and no timer is left over."""
        facts, life = self.ledger.facts, engine.life
        cut_off = {attempt.key for attempt in life.runner.running}
        for call in self.service.calls[calls_before:]:
            known = call.key in facts.completed or (
                facts.attempts_failed.get(call.key, 0) >= call.attempt
            )
            if not known and call.key in facts.scheduled and call.key not in cut_off:
                self.ledger.blame(f"step {call.key} ended before an orderly close, unrecorded")
        if not life.core.table.open_count and life.core.timers.live:
            self.ledger.blame(f"no run is open and timers are left: {life.core.timers.live}")


@functools.cache
def _lazy(rest: int) -> type[LazyNode]:
    return type("Lazy", (LazyNode,), {"rest": rest})


def _ignore_power_lost(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """The machine is off: nobody reads what its loop would say."""
    if not isinstance(context.get("exception"), PowerLost):
        loop.default_exception_handler(context)


Scene = Callable[[Play], None]
