"""`Engine`: durable workflows inside an application's own event loop."""

from __future__ import annotations

import asyncio
import functools
import os
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

import fusee
from fusee.base.durations import seconds
from fusee.base.errors import (
    AlreadyFinished,
    AlreadyRunning,
    EngineError,
    UnknownWorkflow,
)
from fusee.base.limits import (
    ASYNC_STEPS_MAX,
    BLOCKED_AFTER_S,
    BLOCKED_AFTER_S_MIN,
    SYNC_THREADS_MAX,
)
from fusee.base.names import check_id
from fusee.embed.assembly import Assemble, assemble_directory, assemble_memory
from fusee.embed.calls import EngineCalls
from fusee.embed.client import Client
from fusee.embed.handle import Run
from fusee.embed.life import Life
from fusee.embed.options import StartOptions
from fusee.embed.programs import Registry
from fusee.io.surroundings import Surroundings
from fusee.record.kinds import Started
from fusee.sdk.retry import Duration
from fusee.sdk.workflow import Workflow

R = TypeVar("R")

MEMORY = ":memory:"


class Engine(EngineCalls):
    """Runs workflows in this process, durably. Made by `Engine.open`, used with `async with`."""

    def __init__(
        self,
        assemble: Assemble,
        registry: Registry,
        *,
        drain_s: float = 10.0,
        sync_threads: int = SYNC_THREADS_MAX,
        async_steps: int = ASYNC_STEPS_MAX,
        on_stop: Literal["raise", "exit"] = "raise",
        has_admin: bool = True,
        blocked_after_s: float | None = BLOCKED_AFTER_S,
        surroundings: Surroundings | None = None,
    ) -> None:
        self._assemble = assemble
        self._registry = registry
        self._drain_s = drain_s
        self._sync_threads = sync_threads
        self._async_steps = async_steps
        self._on_stop = on_stop
        self._has_admin = has_admin
        self._blocked_after_s = blocked_after_s
        self._surroundings = surroundings or Surroundings()
        self._life: Life | None = None
        self._options = StartOptions()

    @staticmethod
    def open(
        path: str | os.PathLike[str],
        *,
        workflows: Iterable[Workflow[Any, Any]],
        drain: Duration = 10.0,
        sync_threads: int = SYNC_THREADS_MAX,
        async_steps: int = ASYNC_STEPS_MAX,
        on_stop: Literal["raise", "exit"] = "raise",
        blocked_after: Duration | None = BLOCKED_AFTER_S,
    ) -> Engine:
        """Return an engine on a directory, or on ":memory:"; enter it to open it.

        drain: how long closing waits for running step functions. sync_threads, async_steps:
        how many step functions run at a time. on_stop: "exit" ends the process with code 70
        when a write fails; "raise" leaves that to the application. blocked_after: how long
        workflow code may keep the event loop in one turn before a warning says so with its
        stack; None warns never.

        Argument errors are raised here; entering raises `DirectoryLocked`,
        `DirectoryRefused` and `AcknowledgedDataLost`.
        """
        _check_python()
        for name, value in (("sync_threads", sync_threads), ("async_steps", async_steps)):
            if type(value) is not int or value < 1:
                raise ValueError(f"{name}={value!r}: a whole number of at least 1")
        if on_stop not in ("raise", "exit"):
            raise ValueError(f"on_stop={on_stop!r}: 'raise' or 'exit'")
        text = os.fspath(path)
        if not text:
            raise ValueError("the path of the engine's directory is empty")
        return Engine(
            assemble_memory
            if text == MEMORY
            else functools.partial(assemble_directory, Path(text)),
            Registry(workflows),
            drain_s=seconds(drain),
            sync_threads=sync_threads,
            async_steps=async_steps,
            on_stop=on_stop,
            blocked_after_s=_limit_s(blocked_after),
        )

    # ------------------------------------------------------------ life

    async def __aenter__(self) -> Self:
        if self._life is not None:
            raise EngineError("this engine was opened before; call Engine.open again")
        self._life = Life(
            asyncio.get_running_loop(),
            self._assemble,
            self._registry,
            self._surroundings,
            sync_threads=self._sync_threads,
            async_steps=self._async_steps,
            exit_on_stop=self._on_stop == "exit",
            has_admin=self._has_admin,
            blocked_after_s=self._blocked_after_s,
        )
        await self._life.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self, drain: Duration | None = None) -> None:
        """Close: no new work, running step functions finish up to `drain`, then are cut off.

        Always returns, within one and a half times the drain, and a little later where the
        disk hangs. A function that is cut off is a crash re-run after the next open, not an
        attempt. Idempotent.
        """
        if self._life is not None:
            await self._life.close(self._drain_s if drain is None else seconds(drain))

    @property
    def stopped(self) -> BaseException | None:
        """What stopped the engine, None while it runs and after an ordinary close."""
        return None if self._life is None else self._life.stopped

    @property
    def life(self) -> Life:
        """The open parts of the engine, for the command line and for tests."""
        if self._life is None or not self._life.was_opened:
            raise EngineError("the engine is not open: use `async with Engine.open(...)`")
        return self._life

    # ------------------------------------------------------------ calls

    async def _start(
        self,
        workflow: Workflow[Any, R],
        workflow_id: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        is_acknowledged: bool,
    ) -> Run[R]:
        definition = self._registered(workflow)
        check_id(workflow_id, what="workflow ID")
        payload = definition.signature.check(args, kwargs)
        client = self.life.client
        now_us = client.core.log.now_us()
        started = Started(
            definition.name,
            definition.version,
            payload,
            self._options.request_bytes() or client.entropy(16),
            now_us,
            self._surroundings.python,
            fusee.__version__,
        )
        codec = definition.signature.result_codec
        try:
            admitted = await client.start(
                workflow_id, started, self._options.policy, is_acknowledged=is_acknowledged
            )
        except (AlreadyRunning, AlreadyFinished) as error:
            error.run = Run(client, workflow_id, error.run.ordinal, codec)
            raise
        return Run(
            client,
            workflow_id,
            admitted.run.ordinal,
            codec,
            started_by_me=admitted.started_by_me,
            input_differs=admitted.input_differs,
        )

    def _client(self) -> Client:
        return self.life.client

    def _registered(self, workflow: Workflow[Any, Any]) -> Workflow[Any, Any]:
        if not isinstance(workflow, Workflow):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"start takes a function decorated with @fusee.workflow, not {workflow!r}"
            )
        version = self._options.version or workflow.version
        found = self._registry.find(workflow.name, version)
        if found is None:
            self._registry.newest(workflow.name)  # Says so when the name itself is unknown.
            known = ", ".join(self._registry.versions(workflow.name))
            raise UnknownWorkflow(
                f"workflow {workflow.name}@{version} is not registered (registered: {known})"
            )
        return found


def _limit_s(blocked_after: Duration | None) -> float | None:
    if blocked_after is None:
        return None
    limit_s = seconds(blocked_after)
    if limit_s < BLOCKED_AFTER_S_MIN:
        raise ValueError(
            f"blocked_after={blocked_after!r}: at least {BLOCKED_AFTER_S_MIN:g} s, or None"
        )
    return limit_s


def _check_python() -> None:
    if sys.flags.optimize:
        raise EngineError("Fusee refuses to run under python -O: its asserts guard the log")
    if (
        sysconfig.get_config_var("Py_GIL_DISABLED")
        and os.environ.get("FUSEE_ALLOW_FREE_THREADED") != "1"
    ):
        raise EngineError(
            "free-threaded Python is not tested; set FUSEE_ALLOW_FREE_THREADED=1 to try it"
        )
