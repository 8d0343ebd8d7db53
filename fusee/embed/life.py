"""The life of one open engine: opening, running, stopping, closing.

Opening and closing are written so that every way out releases what was taken: the lock, the
device, threads, coroutines. Close always returns.
"""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from fusee.base.errors import EngineStopped
from fusee.embed.assembly import Assemble, Assembly
from fusee.embed.client import Client
from fusee.embed.owner import serve
from fusee.embed.programs import Registry, loader
from fusee.embed.pump import Pump
from fusee.embed.upkeep import Upkeep
from fusee.embed.watchdog import Watchdog
from fusee.engine.commitlog import Stopped
from fusee.engine.core import Core
from fusee.engine.run import Run
from fusee.engine.steps import keep_arrived
from fusee.io.step_runner import StepRunner
from fusee.io.wakeup import wake_loop
from fusee.loop.gather import install_gather
from fusee.loop.illegal import refuse
from fusee.loop.ordered import check_ordered_set, install_ordered_set
from fusee.loop.wait_for import install_wait_for
from fusee.loop.workflow_loop import in_workflow_code
from fusee.sdk.runlog import emit

if TYPE_CHECKING:
    from fusee.admin.server import AdminServer
    from fusee.io.surroundings import Surroundings

LOGGER = logging.getLogger("fusee")
EXIT_CODE_STOPPED = 70
FLUSH_S_MIN = 0.5
"""Closing waits half the drain for the disk, but at least so long; then the disk hangs."""


class Life:
    """Everything that exists while an engine is open."""

    client: Client
    core: Core
    pump: Pump
    runner: StepRunner
    assembly: Assembly

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        assemble: Assemble,
        registry: Registry,
        surroundings: Surroundings,
        *,
        sync_threads: int,
        async_steps: int,
        exit_on_stop: bool,
        has_admin: bool,
        blocked_after_s: float | None,
    ) -> None:
        self.registry = registry
        self.surroundings = surroundings
        self.stopped: BaseException | None = None
        self._loop = loop
        self._wake_from_thread = wake_loop(loop)
        self._assemble = assemble
        self._sync_threads = sync_threads
        self._async_steps = async_steps
        self._exit_on_stop = exit_on_stop
        self._has_admin = has_admin
        self._blocked_after_s = blocked_after_s
        self._watchdog: Watchdog | None = None
        self._admin: AdminServer | None = None
        self._closed = False
        self._is_open = False

    @property
    def was_opened(self) -> bool:
        """Whether opening succeeded; true also after the end."""
        return self._is_open

    async def open(self) -> None:
        """Open: recover the runs, lead a new view, and let open runs go on."""
        install_ordered_set()
        install_wait_for()
        install_gather()
        check_ordered_set()
        assembled = self._assemble(self.surroundings.clock, self._wake_from_thread)
        self.assembly = assembled if isinstance(assembled, Assembly) else await assembled
        try:
            for report in self.assembly.reports:
                LOGGER.warning("%s", report)
            self._wire()
        except BaseException:
            self.assembly.release()
            raise
        self._is_open = True
        if self._blocked_after_s is not None:
            self._watchdog = Watchdog(
                self.core.watch, self.surroundings, self._blocked_after_s, LOGGER.warning
            )
        for run in self.core.table.open_runs():
            self.core.queue(run)
        self.pump.wake()
        if self.assembly.directory is not None and self._has_admin:
            self._admin = serve(self, self.assembly.directory.path)

    def _wire(self) -> None:
        assembly, loop, surroundings = self.assembly, self._loop, self.surroundings
        threads = surroundings.make_threads(self._sync_threads, self._wake_from_thread)
        self._threads = threads
        self.runner = StepRunner(
            loop,
            threads,
            surroundings,
            async_steps=self._async_steps,
            sync_steps=self._sync_threads,
            on_interrupt=self._interrupted,
            on_bug=assembly.node.stop,
        )
        self.core = Core(
            assembly.node,
            table=assembly.table,
            steps=self.runner,
            load_program=loader(self.registry, lambda: self.core, surroundings.entropy),
            say=emit,
            wake=self._wake,
        )
        self.runner.bind(self.core)
        self.client = Client(
            self.core,
            loop,
            self.check_usable,
            LOGGER.warning,
            assembly.node.stop,
            surroundings.entropy,
        )
        self.upkeep = Upkeep(
            self.core,
            assembly.log,
            loop,
            surroundings,
            self._wake_from_thread,
            assembly.node.stop,
        )
        submitter = assembly.submitter
        self.pump = Pump(
            loop,
            self.core,
            assembly.node,
            yield_gil=submitter.yield_gil if submitter is not None else _no_thread_waits,
            seal_delay_s=assembly.seal_delay_s,
            clock_look_s=surroundings.clock_look_s,
            turns_max=surroundings.turns_max,
            on_turned=self._turned,
        )
        assembly.node.listen(self.core.gate.open, self.pump.wake, self._on_stop)

    def _turned(self) -> None:
        """After each iteration: what is not urgent."""
        if self.runner.has_waiting:
            self.runner.start_waiting()
        self.client.room_again()
        self.upkeep.look()

    def _wake(self) -> None:
        self.pump.wake()

    def check_usable(self) -> None:
        """Raise when the engine cannot take calls: closed, stopped, forked, another loop."""
        if self.stopped is not None:
            raise EngineStopped(f"the engine has stopped: {self.stopped}", self.stopped)
        if self._closed or not self._is_open:
            raise EngineStopped("the engine is closed")
        if self.assembly.directory is not None:
            self.assembly.directory.check_owner()
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            if in_workflow_code():
                refuse("a call of an engine", "move it into ctx.step(...), or use ctx.external(id)")
            raise RuntimeError("the engine belongs to another event loop; call it there")

    # ------------------------------------------------------------ stopping

    def _on_stop(self, stopped: Stopped) -> None:
        """The log has stopped: gates never open, waiters hear it, health fails."""
        cause = stopped.reason
        self.stopped = cause if cause is not None else EngineStopped()
        self.core.gate.shut_for_good()
        self.core.draining = True
        self.runner.stop()
        self.assembly.distrust()
        error = EngineStopped(f"the engine has stopped: {cause}", cause)
        error.__cause__ = cause
        LOGGER.critical("the engine has stopped and its process should end: %r", cause)
        self.client.stop(error)
        if self._exit_on_stop:
            os._exit(EXIT_CODE_STOPPED)

    def _interrupted(self, error: BaseException) -> None:
        """A step raised SystemExit or KeyboardInterrupt: drain; asyncio ends the program."""
        self.core.draining = True
        self.client.stop(EngineStopped(f"a step raised {error!r}; the engine is draining", error))

    # ------------------------------------------------------------ closing

    async def close(self, drain_s: float) -> None:
        """Close; see `Engine.close`."""
        if self._closed or not self._is_open:
            return
        self._closed = True
        self.core.draining = True
        directory = self.assembly.directory
        is_ours = directory is None or directory.is_owner
        try:
            if self.stopped is None and is_ours:
                await self._drain(drain_s)
        finally:
            self._finish()
            if self._admin is not None:
                await self._admin.close()

    async def _drain(self, drain_s: float) -> None:
        """Let running functions finish, then cut them off; write what they brought."""
        deadline = self._loop.time() + drain_s
        try:
            await self.runner.idle(deadline - self._loop.time())
        finally:
            for attempt in self.runner.running:
                LOGGER.warning(
                    "step '%s' of run %s was cut off by closing; it runs again after the next open",
                    attempt.op.name,
                    attempt.run.key,
                )
            self.runner.stop()
        await self.runner.idle(drain_s / 2)
        for run in self.core.table.open_runs():
            keep_arrived(self.core, run)
        await self._flush_rest(max(FLUSH_S_MIN, drain_s / 2))

    async def _flush_rest(self, timeout_s: float) -> None:
        """Write what is left. A disk that fails or hangs now must not keep close from returning."""
        node = self.assembly.node
        with suppress(EngineStopped, TimeoutError):
            async with asyncio.timeout(timeout_s):
                while node.uncommitted and node.stopped is None:
                    if not node.flush():
                        await self.client.committed(node.appended)
        if node.stopped is None:
            node.seal_if_idle()

    def _finish(self) -> None:
        """Release everything. Runs on every way out, does not wait, and leaves nothing undone."""
        with ExitStack() as releases:
            releases.callback(self.assembly.release)
            releases.callback(self.upkeep.close)
            releases.callback(self._threads.close)
            if self._watchdog is not None:
                releases.callback(self._watchdog.close)
            if self._admin is not None:
                self._admin.shut()  # Before the lock: the next owner makes a socket of its own.
            self.pump.close()
            self.runner.stop()
            # Runs replayed only to be asked something are in no table, but wait for a turn.
            for run in [*self.core.table.all(), *self.core.ready]:
                if isinstance(run, Run):
                    self.core.unload(run)
            for name in self.core.unwilling:
                LOGGER.warning("workflow task %s refused to unwind and was left behind", name)
            self.core.gate.shut_for_good()
            self.client.stop(EngineStopped("the engine was closed"))


def _no_thread_waits() -> None:
    """There is no writer thread."""
