"""`Simulator`: a user's own workflows in a hostile world, from one seed.

    sim = Simulator([checkout], seed=7, faults=Faults(crash=0.2))
    pay = sim.stub(charge, lambda quote: "ch_1")
    sim.run(scenario)

The scenario is a coroutine outside of the process: it starts runs, sends signals, lets time
pass and may kill the process. Time costs nothing, and the same seed does the same again.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast, overload

from fusee.base.durations import to_us
from fusee.embed.programs import Registry
from fusee.record.payload import forget_codecs
from fusee.sdk.retry import Duration
from fusee.sdk.step import spec_of
from fusee.sdk.workflow import Workflow
from fusee.testing import report
from fusee.testing.calls import Calls
from fusee.testing.client import SimEngine, check_outside
from fusee.testing.cold import Cold
from fusee.testing.faults import Faults
from fusee.testing.guard import Guard
from fusee.testing.outcome import Stuck
from fusee.testing.reach import check_known
from fusee.testing.seeds import stream
from fusee.testing.stubs import Stub, StubCall
from fusee.testing.world import Settings, Watcher, World

if TYPE_CHECKING:
    import asyncio

    from fusee.testing.process import Process

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
P = ParamSpec("P")
R = TypeVar("R")
Scenario = Callable[["Simulator"], Coroutine[Any, Any, R]]


class Simulator:
    """One simulated machine, on which an application with these workflows runs.

    Every process on it is killed, restarted and lied to as `faults` says. All of that follows
    from `seed`: the same seed, the same workflows and the same scenario are the same run.

    Raises TypeError and ValueError for what is no workflow, seed or `Faults`.
    """

    def __init__(
        self,
        workflows: Iterable[Workflow[Any, Any]],
        *,
        seed: int = 0,
        faults: Faults | None = None,
    ) -> None:
        self.seed = _check_seed(seed)
        self.faults = _check_faults(faults)
        workflows = _check_workflows(workflows)
        self._registry = Registry(workflows)
        self._cold = Cold(workflows) if self.faults.cold_process else None
        self._guard = Guard(lambda: self.world.is_unwinding)
        self._idle = _Idle(self.faults.evict, seed)
        self._calls = Calls()
        self._was_run = False
        self.world = World(
            seed,
            self._boot,
            plan=self.faults.plan(stream(seed, "faults")),
            settings=Settings(),
            watcher=self._idle,
        )
        self.world.function_of = self._calls.function_of
        self.engine = SimEngine(self.world)
        """What the scenario calls; it survives every process."""

    @property
    def calls(self) -> list[StubCall]:
        """Every call of a step that arrived in any process, whether it has a stub or not."""
        return self._calls.made

    def _boot(self) -> Registry:
        """Return what a new process has registered."""
        if self._cold is None:
            return self._registry
        with self._guard.pause():
            return self._cold.life()

    @overload
    def stub(
        self,
        step: Callable[P, Awaitable[R]],
        function: Callable[P, R] | Callable[P, Awaitable[R]],
        *,
        varies: bool = False,
    ) -> Stub: ...
    @overload
    def stub(
        self, step: Callable[P, R], function: Callable[P, R], *, varies: bool = False
    ) -> Stub: ...
    def stub(
        self, step: Callable[..., Any], function: Callable[..., Any], *, varies: bool = False
    ) -> Stub:
        """Let `function` stand in for a step function; return the log of its calls.

        With `varies` it is asked anew at every call; otherwise a key that comes again is
        given the answer it was given before. `function` is called with the step's arguments,
        belongs to the test like the scenario, and may ask `sim.now()`; for an async step it
        may be async. Raises ValueError for a step that no workflow of this simulator refers to.
        """
        if self._was_run:
            raise RuntimeError("sim.stub(...) comes before sim.run(...)")
        if isinstance(step, Workflow) or not callable(step):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"sim.stub takes the function of a step, not {step!r}")
        if not callable(function):
            raise TypeError(f"the stub of {step!r} must be a function, not {function!r}")
        spec = spec_of(step)
        if spec.name in self._calls.stubs:
            raise ValueError(f"a step named {spec.name!r} has a stub already")
        if not spec.is_async and inspect.iscoroutinefunction(function):
            raise TypeError(f"step {spec.name!r} is not async, so its stub cannot be")
        check_known(spec, self._registry)
        stub = self._calls.stubs[spec.name] = Stub(spec, function, varies=varies)
        return stub

    # ------------------------------------------------------------ for the scenario

    def now(self) -> datetime:
        """Return the world's time, in UTC."""
        return _EPOCH + timedelta(microseconds=self.world.now_us)

    async def advance(self, duration: Duration) -> None:
        """Let time pass, and with it everything that is due: "9m", a timedelta, seconds."""
        check_outside(self.world, "sim.advance(...)")
        try:
            time_us = to_us(duration)
        except (TypeError, ValueError) as error:
            raise type(error)(f"sim.advance({duration!r}): {error}") from None
        if _is_negative(duration):
            raise ValueError(f"sim.advance({duration!r}): time does not go back")
        await self.world.sleep(time_us / 1e6)

    async def crash(self) -> None:
        """Kill the process at this instant; return when another one serves."""
        check_outside(self.world, "sim.crash()")
        self.world.crash()
        await self.world.serving()

    async def evict(self) -> None:
        """Take every run out of memory; each comes back by replay."""
        check_outside(self.world, "sim.evict()")
        (await self.world.serving()).evict()

    # ------------------------------------------------------------ running

    def run(self, scenario: Scenario[R]) -> R:
        """Run a scenario to its end and return what it returns; then close the process in order.

        When the scenario has ended nothing goes wrong any more, and what is left must come to
        rest. Raises what the scenario raises, and AssertionError when Fusee broke a promise,
        when code reached for the real world, or when nothing moves any more; each says the
        seed that shows it again.
        """
        if not _is_async(scenario):
            if inspect.iscoroutine(scenario):
                scenario.close()
            raise TypeError(
                "sim.run takes a coroutine function, `async def scenario(sim): ...`, and calls it "
                f"itself; not {scenario!r}"
            )
        if self._was_run:
            raise RuntimeError("sim.run(...) was called before; make another Simulator")
        self._was_run = True
        try:
            with self._guard.watching(self.world.scheduler.interrupt):
                result, end = self._lived(scenario)
        finally:
            if self._cold is not None:
                forget_codecs()  # Of the classes of all lives, which nobody else will let go.
        self._check(end.held, end.repeat)
        if isinstance(end.error, Stuck):
            text = f"the world is stuck: {end.error}; {end.waits}\n\n{end.repeat}"
            raise AssertionError(text) from None
        if end.error is not None:
            end.error.add_note(end.repeat)
            raise end.error
        return cast("R", result)

    def _lived(self, scenario: Scenario[R]) -> tuple[R | None, _End]:
        """Run a scenario and take the world apart, while the guard watches whatever unwinds."""
        world = self.world
        result: R | None = None
        error: Exception | None = None
        try:
            result = world.run(scenario(self))
            world.heal()
            self._idle.heal()
            world.run(self._rest())
            world.shut()
        except Exception as raised:
            error = raised
        except BaseException:
            world.abandon()
            raise
        held, waits = self._idle.held or report.held_runs(world.process), ""
        repeat = report.how_to_repeat(world)
        if error is not None:
            waits = report.who_waits(world)
            world.abandon()
            if not isinstance(error, Stuck):
                held = []  # What the scenario raises comes first: it may be about them.
        return result, _End(error, held, waits, repeat)

    async def _rest(self) -> None:
        """Wait until a process has nothing to do."""
        while True:
            process = await self.world.serving()
            if process.is_idle or await self._idle.next_of(process):
                return

    def _check(self, held: list[str], repeat: str) -> None:
        """Raise AssertionError for what must never happen, whatever the scenario says."""
        if self._guard.refused:
            first = self._guard.refused[0]
            raise AssertionError(f"NotSimulated: {first}\n\n{repeat}") from first
        if self._calls.inputs.broken:
            raise AssertionError(f"{self._calls.inputs.broken[0]}\n\n{repeat}")
        for bug in self.world.bugs:
            cause = bug if isinstance(bug, BaseException) else None
            raise AssertionError(f"Fusee failed: {bug!r}\n\n{repeat}") from cause
        if held:
            lines = "\n".join(held)
            raise AssertionError(f"{lines}\n\n{repeat}")


@dataclass(frozen=True, slots=True)
class _End:
    """How a scenario ended, and what the world looked like then."""

    error: Exception | None
    held: list[str]
    """Runs whose code does not fit their journals."""
    waits: str
    repeat: str


class _Idle(Watcher):
    """What happens whenever a process is idle: runs leave memory, and somebody may wait for it.

    When one ends it is asked for the runs that it held: the next may happen to fit the journal.
    """

    def __init__(self, chance: float, seed: int) -> None:
        self.held: list[str] = []
        """A line for each run that the first process to hold any has held."""
        self._chance = chance
        self._random = stream(seed, "evict")
        self._looked_at = -1
        self._waiting: list[tuple[Process, asyncio.Future[bool]]] = []

    def heal(self) -> None:
        """Leave runs in memory from here on."""
        self._chance = 0.0

    async def next_of(self, process: Process) -> bool:
        """Wait until a process is idle; False when it has ended."""
        future: asyncio.Future[bool] = process.world.outside.create_future()
        self._waiting.append((process, future))
        return await future

    def on_idle(self, process: Process) -> None:
        self._tell(process, is_idle=True)
        appended = process.engine.life.assembly.node.appended
        if self._chance and appended != self._looked_at:
            # A replay appends nothing: what has just come back stays until something happens.
            self._looked_at = appended
            for _ in range(process.evict(self._chosen)):
                process.world.marks.hit("fault:evict")

    def on_end(self, process: Process) -> None:
        self.held = self.held or report.held_runs(process)
        self._looked_at = -1
        self._tell(process, is_idle=False)

    def _chosen(self) -> bool:
        return self._random.random() < self._chance

    def _tell(self, process: Process, *, is_idle: bool) -> None:
        waiting, self._waiting = self._waiting, []
        for who, future in waiting:
            if who is process:
                future.set_result(is_idle)
            else:
                self._waiting.append((who, future))


def _is_async(function: Any) -> bool:
    call: Any = getattr(function, "__call__", None)  # noqa: B004 - its kind is asked
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def _is_negative(duration: Duration) -> bool:
    if isinstance(duration, str):
        return duration.lstrip().startswith("-")
    return duration < timedelta(0) if isinstance(duration, timedelta) else duration < 0


def _check_seed(seed: int) -> int:
    if type(seed) is not int:
        raise TypeError(f"seed={seed!r}: a whole number")
    if seed < 0:
        raise ValueError(f"seed={seed!r}: 0 or more")
    return seed


def _check_faults(faults: Faults | None) -> Faults:
    given: Any = faults
    if not isinstance(given, Faults | None):
        raise TypeError(f"faults={given!r}: a fusee.testing.Faults(...)")
    return given or Faults()


def _check_workflows(workflows: Iterable[Workflow[Any, Any]]) -> list[Workflow[Any, Any]]:
    given: Any = workflows
    if isinstance(given, Workflow):
        raise TypeError(f"Simulator takes a list of workflows: Simulator([{given.__name__}])")
    if not isinstance(given, Iterable):
        raise TypeError(f"Simulator takes a list of workflows, not {given!r}")
    found = list(cast("Iterable[Workflow[Any, Any]]", given))
    for workflow in found:
        if not isinstance(workflow, Workflow):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"Simulator([...]) takes functions decorated with @fusee.workflow, not {workflow!r}"
            )
    return found
