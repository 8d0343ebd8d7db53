"""Upkeep off the hot path: the next log segment is made ahead, free space is watched."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from fusee.log.device import NotBegun

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from fusee.engine.core import Core
    from fusee.io.file_log import FileLog
    from fusee.io.surroundings import Aside, Surroundings
    from fusee.log.writer import Preparation

LOGGER = logging.getLogger("fusee")
SPACE_LOOK_S = 1.0
"""How often free space is asked for, and how soon a segment without space is tried again."""
_SPACE_LOOK_NS = int(SPACE_LOOK_S * 1e9)


class Upkeep:
    """Looks after one log. Does nothing where there are no files."""

    def __init__(
        self,
        core: Core,
        log: FileLog | None,
        loop: asyncio.AbstractEventLoop,
        surroundings: Surroundings,
        wake: Callable[[Callable[[], None]], object],
        stop: Callable[[BaseException], None],
    ) -> None:
        self._core = core
        self._log = log
        self._loop = loop
        self._wake = wake
        self._stop = stop
        self._run_aside = surroundings.run_aside
        self._monotonic_ns = surroundings.clock.monotonic_ns
        self._working = False
        self._making: Aside | None = None
        self._retry: asyncio.TimerHandle | None = None
        self._warned = False
        self._space_due_ns = 0
        self._plan_due_ns = 0
        self._again: asyncio.TimerHandle | None = None
        if log is not None:
            self._look_at_space()

    def look(self) -> None:
        """Begin making the next segment when it is due. Cheap; called after each iteration."""
        if self._log is None or self._log.failed is not None:
            return
        now_ns = self._monotonic_ns()
        if now_ns >= self._space_due_ns:
            self._look_at_space()
        if self._working or now_ns < self._plan_due_ns:
            return
        preparation = self._log.plan_ahead()
        if preparation is None:
            return
        self._working = True
        # A thread for each: one is needed every 64 MiB, and the fill must not wait for steps.
        self._making = self._run_aside(lambda: self._make(preparation), "fusee-segment")

    def _look_at_space(self) -> None:
        """Refuse starts while space is low. Others fill disks too, and others free them."""
        assert self._log is not None
        self._space_due_ns = self._monotonic_ns() + _SPACE_LOOK_NS
        is_low = self._core.storage_full = self._log.is_storage_low
        if self._again is not None:
            self._again.cancel()
        # An engine that refuses everything may turn no more; so it looks by itself.
        self._again = self._loop.call_later(SPACE_LOOK_S, self._look_at_space) if is_low else None

    def _make(self, preparation: Preparation) -> None:
        assert self._log is not None
        failure: BaseException | None = None
        try:
            self._log.carry_out(preparation)
        except BaseException as error:
            failure = error
        self._wake(lambda: self._made(preparation, failure))

    def _made(self, preparation: Preparation, failure: BaseException | None) -> None:
        log = self._log
        self._working = False
        if log is None:
            return  # Closed meanwhile; the next open finds the file.
        if failure is not None:
            self._plan_due_ns = self._monotonic_ns() + _SPACE_LOOK_NS
            self._tell_why(failure)
        log.adopt(preparation, failure)
        if log.failed is not None:
            self._stop(log.failed)
        else:
            self._look_at_space()

    def _tell_why(self, failure: BaseException) -> None:
        """Say once why a segment cannot be made, if that may pass; and see whether it has."""
        if isinstance(failure, NotBegun):
            # A batch may wait for it, and an engine whose batches wait turns no more.
            self._retry = self._loop.call_later(SPACE_LOOK_S, self._plan_again)
            if not self._warned:
                LOGGER.warning("the next log segment cannot be made yet: %s", failure)
        self._warned = isinstance(failure, NotBegun)

    def _plan_again(self) -> None:
        self._plan_due_ns = 0
        self.look()

    def close(self) -> None:
        """Wait for a segment being made, bounded: its file belongs to the directory."""
        for timer in (self._again, self._retry):
            if timer is not None:
                timer.cancel()
        if self._making is not None:
            self._making.join(5.0)
        self._log = None
