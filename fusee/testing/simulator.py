"""`Simulator`: a user's own workflows in a hostile world, from one seed.

    sim = Simulator([checkout], seed=7, faults=Faults(crash=0.2))
    pay = sim.stub(charge, lambda quote: "ch_1")
    sim.run(scenario)

The scenario is a coroutine outside of the process: it starts runs, sends signals, lets time
pass and may kill the process. Time costs nothing, and the same seed does the same again.
"""

from __future__ import annotations

import functools
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from fusee.base.durations import seconds
from fusee.embed.programs import Registry
from fusee.sdk.step import spec_of
from fusee.testing.client import SimEngine
from fusee.testing.faults import Faults
from fusee.testing.seeds import stream
from fusee.testing.stubs import Stub
from fusee.testing.world import Settings, World

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from fusee.sdk.retry import Duration
    from fusee.sdk.workflow import Workflow

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Simulator:
    """One simulated machine, on which an application with these workflows runs.

    Every process on it is killed, restarted and lied to as `faults` says. All of that follows
    from `seed`: the same seed, the same workflows and the same scenario are the same run.
    """

    def __init__(
        self,
        workflows: Iterable[Workflow[Any, Any]],
        *,
        seed: int = 0,
        faults: Faults | None = None,
    ) -> None:
        self.seed = seed
        self.faults = faults or Faults()
        self._registry = Registry(workflows)
        self.world = World(
            seed,
            lambda: self._registry,
            plan=self.faults.plan(stream(seed, "faults")),
            settings=Settings(),
        )
        self.engine = SimEngine(self.world)
        """What the scenario calls; it survives every process."""

    def stub(
        self, step: Callable[..., Any], function: Callable[..., Any], *, varies: bool = False
    ) -> Stub:
        """Let `function` stand in for a step function; return the log of its calls.

        With `varies` it is asked anew at every call; otherwise a key that comes again is
        given the answer it was given before.
        """
        stub = Stub(self.world, spec_of(step), function, varies=varies)
        self.world.stand_ins[stub.name] = stub.stand_in
        return stub

    def now(self) -> datetime:
        """Return the world's time, in UTC."""
        return _EPOCH + timedelta(microseconds=self.world.now_us)

    async def advance(self, duration: Duration) -> None:
        """Let time pass, and with it everything that is due."""
        await self.world.sleep(seconds(duration))

    async def crash(self) -> None:
        """Kill the process at this instant; return when another one serves."""
        self.world.crash()
        await self.world.serving()

    async def evict(self) -> None:
        """Take every run out of memory; each comes back by replay."""
        self.world.evict()

    def run(self, scenario: Callable[[Simulator], Awaitable[None]]) -> None:
        """Run a scenario to its end, then close the process in order.

        Raises what the scenario raises, and AssertionError when Fusee broke a promise or
        nothing moves any more; each with the seed that shows it again.
        """
        try:
            self.world.run(functools.partial(_run, scenario, self)())
            self.world.shut()
            self.world.raise_bugs()
        except BaseException as error:
            self.world.abandon()
            error.add_note(f"simulated with seed={self.seed}: run this test with the same seed")
            raise


async def _run(scenario: Callable[[Simulator], Awaitable[None]], simulator: Simulator) -> None:
    await scenario(simulator)
