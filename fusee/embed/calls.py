"""`start`, `run`, `get`, `options`: the calls that begin runs and find them, with their types.

Said once for whatever carries them to an engine: `Engine` itself, and the simulator, whose
engines come and go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

from fusee.base.names import check_id
from fusee.embed.handle import Run
from fusee.record.payload import codec_for

if TYPE_CHECKING:
    from fusee.embed.handle import RunClient
    from fusee.embed.options import StartOptions
    from fusee.engine.admission import OnConflict, Reuse
    from fusee.sdk.workflow import Workflow

P = ParamSpec("P")
R = TypeVar("R")


class EngineCalls:
    """What `Engine` offers to whoever starts runs."""

    _options: StartOptions

    def options(
        self,
        *,
        on_conflict: OnConflict | None = None,
        reuse: Reuse | None = None,
        version: str | None = None,
        request_id: str | None = None,
    ) -> Self:
        """Return this engine with options for `start` and `run`.

        on_conflict: when a run of the ID is open: "fail", "use_existing",
        "terminate_existing". reuse: when one has finished: "allow_failed_only", "allow",
        "reject". version: of the workflow, default the one given. request_id: makes a
        repeated start the same start.
        """
        view = object.__new__(type(self))
        view.__dict__.update(self.__dict__)
        view._options = self._options.updated(on_conflict, reuse, version, request_id)
        return view

    async def start(
        self, workflow: Workflow[P, R], workflow_id: str, /, *args: P.args, **kwargs: P.kwargs
    ) -> Run[R]:
        """Start a run; return once that is durable.

        Raises `AlreadyRunning`, `AlreadyFinished` (their `.run` is the run that is there),
        `UnknownWorkflow`, `PayloadMismatch`, `EncodeError`, `StorageFull`.
        """
        return await self._start(workflow, workflow_id, args, kwargs, is_acknowledged=True)

    async def run(
        self, workflow: Workflow[P, R], workflow_id: str, /, *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Start a run and wait for its result. Raises what `start` and `Run.result` raise."""
        # The result waits for a later ticket than the start, so it acknowledges both.
        run = await self._start(workflow, workflow_id, args, kwargs, is_acknowledged=False)
        return await run.result()

    def get(self, workflow: Workflow[P, R] | str, workflow_id: str) -> Run[R]:
        """Return a handle of the newest run of an ID; nothing is looked up yet.

        A workflow's name serves for workflows that are not registered here; its results
        then come as plain JSON values.
        """
        check_id(workflow_id, what="workflow ID")
        if isinstance(workflow, str):
            codec = codec_for(Any, where=f"result of workflow '{workflow}'")
        else:
            codec = workflow.signature.result_codec
        return Run(self._client(), workflow_id, None, codec)

    async def _start(
        self,
        workflow: Workflow[Any, R],
        workflow_id: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        is_acknowledged: bool,
    ) -> Run[R]:
        """Start a run; with `is_acknowledged` false, perhaps return before it is durable."""
        raise NotImplementedError

    def _client(self) -> RunClient:
        """Return what carries the calls of a run."""
        raise NotImplementedError
