"""What a scenario holds in place of an engine: calls that survive the death of the process.

A caller outside cannot know whether a call whose line broke was carried out. So it asks again,
as a careful client does, with the same request id or signal id, until somebody answers.
"""

from __future__ import annotations

from asyncio import _get_running_loop
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

from fusee.base.errors import AlreadyFinished, AlreadyRunning, QueryFailed, WorkflowFailed
from fusee.embed.options import StartOptions
from fusee.loop.illegal import refuse
from fusee.loop.workflow_loop import in_workflow_code
from fusee.sdk.current import CURRENT
from fusee.sdk.workflow import Workflow
from fusee.testing.cold import ColdRegistry, as_here

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fusee.embed.engine import Engine
    from fusee.embed.handle import Run
    from fusee.engine.admission import OnConflict, Reuse
    from fusee.engine.views import JournalEntry, RunInfo
    from fusee.sdk.messages import Asking, Sending
    from fusee.sdk.retry import Duration
    from fusee.testing.world import World

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
I = TypeVar("I")  # noqa: E741 - input, as in the documentation
O = TypeVar("O")  # noqa: E741 - output


def check_outside(world: World, what: str) -> None:
    """Raise unless this is the scenario, which is outside of every process."""
    if _get_running_loop() is world.outside:
        return
    if in_workflow_code():
        refuse(what, "the scenario calls it; a workflow has ctx.external(id) and ctx.step(...)")
    if CURRENT.get(None) is not None:
        raise RuntimeError(
            f"{what} in a step, which runs inside of a process; the scenario calls it"
        )
    raise RuntimeError(f"{what} outside of sim.run(scenario): the scenario calls it")


class SimEngine:
    """The engine of whichever process runs now. Same calls as `fusee.Engine`."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._ids = world.random
        self._options = StartOptions()

    def options(
        self,
        *,
        on_conflict: OnConflict | None = None,
        reuse: Reuse | None = None,
        version: str | None = None,
        request_id: str | None = None,
    ) -> SimEngine:
        """Return this engine with options for `start` and `run`; see `Engine.options`."""
        view = object.__new__(SimEngine)
        view.__dict__.update(self.__dict__)
        view._options = self._options.updated(on_conflict, reuse, version, request_id)
        return view

    async def start(
        self, workflow: Workflow[P, R], workflow_id: str, /, *args: P.args, **kwargs: P.kwargs
    ) -> SimRun[R]:
        """Start a run; see `Engine.start`."""
        check_outside(self._world, "sim.engine.start(...)")
        options = self._options
        request_id = options.request_id or self._ids.randbytes(16).hex()

        def make(engine: Engine) -> Awaitable[Run[R]]:
            given: Any = (args, kwargs)
            registry = engine.life.registry
            asked: Any = workflow
            if isinstance(registry, ColdRegistry) and isinstance(asked, Workflow):
                given = registry.call(workflow, options.version, given)
            engine = engine.options(
                on_conflict=options.policy.on_conflict,
                reuse=options.policy.reuse,
                version=options.version,
                request_id=request_id,
            )
            return engine.start(workflow, workflow_id, *given[0], **given[1])

        try:
            run = await self._world.call(make)
        except (AlreadyRunning, AlreadyFinished) as error:
            error.run = SimRun(self._world, workflow, workflow_id, error.run.ordinal)
            raise
        return SimRun(self._world, workflow, workflow_id, run.ordinal)

    async def run(
        self, workflow: Workflow[P, R], workflow_id: str, /, *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Start a run and wait for its result; see `Engine.run`."""
        run = await self.start(workflow, workflow_id, *args, **kwargs)
        return await run.result()

    def get(self, workflow: Workflow[P, R] | str, workflow_id: str) -> SimRun[R]:
        """Return a handle of the newest run of an ID; see `Engine.get`."""
        return SimRun(self._world, workflow, workflow_id, None)


class SimRun(Generic[R]):
    """A handle of one run. Same calls as `fusee.Run`."""

    __slots__ = ("_workflow", "_world", "id", "ordinal")

    def __init__(
        self,
        world: World,
        workflow: Workflow[Any, R] | str,
        workflow_id: str,
        ordinal: int | None,
    ) -> None:
        self._world = world
        self._workflow = workflow
        self.id = workflow_id
        """The workflow ID."""
        self.ordinal = ordinal
        """Which run of the ID, from 1; None is the newest at each call."""

    def __repr__(self) -> str:
        return f"<run {self.id}{'' if self.ordinal is None else f'/{self.ordinal}'}>"

    async def _ask(self, question: Callable[[Run[R]], Awaitable[T]]) -> T:
        check_outside(self._world, "a call of a run")

        def make(engine: Engine) -> Awaitable[T]:
            run: Run[R] = engine.get(self._workflow, self.id)
            run.ordinal = self.ordinal
            return question(run)

        try:
            return await self._world.call(make)
        except (WorkflowFailed, QueryFailed) as error:
            if error.__cause__ is not None:
                # A cold process raised its own copy of the class.
                error.__cause__ = as_here(error.__cause__)
            raise

    async def result(self, timeout: Duration | None = None) -> R:
        """Wait for the run's result; see `Run.result`."""
        return await self._ask(lambda run: run.result(timeout))

    @overload
    async def signal(self, signal: Sending[None], /, *, signal_id: str | None = None) -> None: ...
    @overload
    async def signal(
        self, signal: Sending[T], value: T, /, *, signal_id: str | None = None
    ) -> None: ...
    @overload
    async def signal(
        self, signal: str, value: Any = None, /, *, signal_id: str | None = None
    ) -> None: ...
    async def signal(
        self, signal: Sending[Any] | str, value: Any = None, /, *, signal_id: str | None = None
    ) -> None:
        """Send a signal; see `Run.signal`."""
        unique = signal_id or self._world.random.randbytes(16).hex()
        await self._ask(lambda run: run.signal(signal, value, signal_id=unique))

    @overload
    async def query(self, query: Asking[None, O], /) -> O: ...
    @overload
    async def query(self, query: Asking[I, O], value: I, /) -> O: ...
    @overload
    async def query(self, query: str, value: Any = None, /) -> Any: ...
    async def query(self, query: Asking[Any, Any] | str, value: Any = None, /) -> Any:
        """Ask the run; see `Run.query`."""
        return await self._ask(lambda run: run.query(query, value))

    async def describe(self) -> RunInfo:
        """Return what the run is and what it waits for."""
        return await self._ask(lambda run: run.describe())

    async def journal(self) -> list[JournalEntry]:
        """Return the run's operations in the order its code called them."""
        return await self._ask(lambda run: run.journal())
