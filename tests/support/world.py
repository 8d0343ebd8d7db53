"""One application, its disk and the world around it, through any number of lives.

    world = World(scenario)
    world.live(Death(call=17, fate="landed"))    dies there, or finishes
    world.live()                                 must finish
    world.ledger.assert_kept()

A life opens an engine on the disk that the last one left, drives the scenario as a client
that repeats every call with its request id, and ends with the process: nothing of its memory
is carried over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any, Protocol

from fusee.base.errors import EngineStopped
from fusee.embed.assembly import Assembly, assemble_on
from fusee.embed.engine import Engine
from fusee.embed.programs import Registry
from fusee.log.segment import SegmentSizes
from fusee.node.local_node import LocalNode
from fusee.sdk.workflow import Workflow
from tests.support.crash_device import CrashDevice, Death, Failure
from tests.support.facts import facts_of
from tests.support.ledger import ExternalService, Ledger
from tests.support.ram_device import PowerLost

SMALL = SegmentSizes(first_bytes=256 * 1024, next_bytes=512 * 1024)
FINISH_S = 60.0
"""A scenario takes a second; this tells one that hangs from a busy machine."""

MakeNode = Callable[[LocalNode], LocalNode]


class Scenario(Protocol):
    """What an application does."""

    def workflows(self, service: ExternalService) -> Iterable[Workflow[Any, Any]]: ...

    def drive(self, engine: Engine, ledger: Ledger) -> Awaitable[None]: ...


class World:
    def __init__(
        self,
        scenario: Scenario,
        *,
        flush_ns: int = 100_000,
        make_node: MakeNode | None = None,
        sizes: SegmentSizes = SMALL,
    ) -> None:
        self.ledger = Ledger()
        self.service = ExternalService(self.ledger)
        self.disk = CrashDevice(flush_ns=flush_ns)
        self.engine: Engine | None = None
        self._scenario = scenario
        self._make_node = make_node
        self._sizes = sizes
        self._registry = Registry(scenario.workflows(self.service))

    @property
    def life(self) -> int:
        return self.ledger.life

    def live(
        self,
        death: Death | None = None,
        *,
        failure: Failure | None = None,
        lies: Iterable[int] = (),
    ) -> bool:
        """Live one life; return whether it came to the scenario's end."""
        ledger = self.ledger
        self.disk = self.disk.survivor()
        self.disk.death = death
        self.disk.failure = failure
        self.disk.lies = set(lies)
        facts = facts_of(self.disk)
        ledger.life += 1
        ledger.check(facts)
        ledger.facts = facts
        self.disk.told.append(facts.on_write)
        has_finished = False
        with suppress(PowerLost):
            has_finished = asyncio.run(self._live())
        ledger.check(facts_of(self.disk.survivor()))
        return has_finished

    def assemble(self, clock: Any, wake: Any) -> Assembly:
        assembly = assemble_on(self.disk, None, clock, wake, sizes=self._sizes)
        if self._make_node is not None:
            assembly.node = self._make_node(assembly.node)
        return assembly

    async def _live(self) -> bool:
        asyncio.get_running_loop().set_exception_handler(_ignore_power_lost)
        engine = self.engine = Engine(self.assemble, self._registry, drain_s=5.0)
        has_finished = False
        async with engine:
            try:
                async with asyncio.timeout(FINISH_S):
                    await self._scenario.drive(engine, self.ledger)
                has_finished = True
            except EngineStopped:
                assert engine.stopped is not None
        return has_finished and engine.stopped is None

    def finish(self) -> None:
        """Live without faults to the end. Everything that was promised is then there."""
        assert self.live(), "without faults every run finishes"
        engine = self.engine
        assert engine is not None
        assert engine.life.core.table.open_count == 0
        assert engine.life.runner.running == []
        self.ledger.assert_kept()


def _ignore_power_lost(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """The machine is off: nobody reads what its loop would say."""
    if not isinstance(context.get("exception"), PowerLost):
        loop.default_exception_handler(context)
