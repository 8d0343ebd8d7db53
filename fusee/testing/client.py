"""What a scenario holds in place of an engine: calls that survive the death of the process.

A caller outside cannot know whether a call whose line broke was carried out. So it asks again,
as a careful client does, with the same request id or signal id, until somebody answers.
"""

from __future__ import annotations

from asyncio import _get_running_loop
from typing import TYPE_CHECKING, Any, TypeVar

from fusee.base.errors import AlreadyFinished, AlreadyRunning, QueryFailed, WorkflowFailed
from fusee.embed.calls import EngineCalls
from fusee.embed.handle import Run
from fusee.embed.options import StartOptions
from fusee.loop.illegal import refuse
from fusee.loop.workflow_loop import in_workflow_code
from fusee.sdk.current import CURRENT
from fusee.sdk.workflow import Workflow
from fusee.testing.cold import ColdRegistry, as_here

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fusee.embed.engine import Engine
    from fusee.embed.handle import RunClient
    from fusee.engine.views import JournalEntry, RunInfo
    from fusee.record.payload import Codec
    from fusee.sdk.retry import Duration
    from fusee.testing.world import World

R = TypeVar("R")
T = TypeVar("T")


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


class SimEngine(EngineCalls):
    """The engine of whichever process runs now. Same calls as `fusee.Engine`."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._options = StartOptions()

    async def _start(
        self,
        workflow: Workflow[Any, R],
        workflow_id: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        is_acknowledged: bool,
    ) -> Run[R]:
        check_outside(self._world, "sim.engine.start(...)")
        options, client = self._options, self._client()
        request_id = options.request_id or self._world.random.randbytes(16).hex()

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
            error.run = _carried_by(client, error.run, workflow)
            raise
        return _carried_by(client, run, workflow)

    def _client(self) -> SimClient:
        return SimClient(self._world)


def _carried_by(client: SimClient, run: Run[Any], workflow: Workflow[Any, R]) -> Run[R]:
    """Return a handle of a run that survives the process that it came from."""
    return Run(
        client,
        run.id,
        run.ordinal,
        workflow.signature.result_codec,
        started_by_me=run.started_by_me,
        input_differs=run.input_differs,
    )


class SimClient:
    """`fusee.embed.handle.RunClient`: carries the calls of a handle to whichever process serves."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def _ask(self, question: Callable[[RunClient], Awaitable[T]]) -> T:
        check_outside(self._world, "a call of a run")
        try:
            return await self._world.call(lambda engine: question(engine.life.client))
        except (WorkflowFailed, QueryFailed) as error:
            if error.__cause__ is not None:
                # A cold process raised its own copy of the class.
                error.__cause__ = as_here(error.__cause__)
            raise

    async def result(
        self, workflow_id: str, ordinal: int | None, codec: Codec, timeout: Duration | None
    ) -> Any:
        """Wait for a run to end; return its value."""
        return await self._ask(lambda client: client.result(workflow_id, ordinal, codec, timeout))

    async def signal(
        self,
        workflow_id: str,
        ordinal: int | None,
        name: str,
        payload: bytes,
        signal_id: str | None,
    ) -> bool:
        """Send a signal, until somebody has it."""
        drawn = self._world.random.randbytes(16).hex() if signal_id is None else signal_id
        return await self._ask(
            lambda client: client.signal(workflow_id, ordinal, name, payload, drawn)
        )

    async def query(
        self, workflow_id: str, ordinal: int | None, name: str, payload: bytes
    ) -> bytes:
        """Ask a run."""
        return await self._ask(lambda client: client.query(workflow_id, ordinal, name, payload))

    async def describe(self, workflow_id: str, ordinal: int | None) -> RunInfo:
        """Describe a run."""
        return await self._ask(lambda client: client.describe(workflow_id, ordinal))

    async def journal(self, workflow_id: str, ordinal: int | None) -> list[JournalEntry]:
        """Return a run's operations."""
        return await self._ask(lambda client: client.journal(workflow_id, ordinal))
