"""Upkeep off the hot path: the next log segment is made ahead, free space is watched."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fusee.engine.core import Core
    from fusee.io.file_log import FileLog
    from fusee.log.writer import Preparation
    from fusee.node.local_node import LocalNode


class Upkeep:
    """Looks after one log. Does nothing where there are no files."""

    def __init__(
        self,
        core: Core,
        log: FileLog | None,
        node: LocalNode,
        wake: Callable[[Callable[[], None]], object],
    ) -> None:
        self._core = core
        self._log = log
        self._node = node
        self._wake = wake
        self._closed = False
        self._working = False
        self._thread: Thread | None = None
        if log is not None:
            core.storage_full = log.is_storage_low

    def look(self) -> None:
        """Begin making the next segment when it is due. Cheap; called after each iteration."""
        if self._log is None or self._working or self._log.failed is not None:
            return
        preparation = self._log.plan_ahead()
        if preparation is None:
            return
        self._working = True
        # A thread for each: one is needed every 64 MiB, and the fill must not wait for steps.
        self._thread = Thread(
            target=self._make, args=(preparation,), name="fusee-segment", daemon=True
        )
        self._thread.start()

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
        if self._closed:
            return
        assert log is not None
        self._working = False
        log.adopt(preparation, failure)
        if log.failed is not None:
            self._node.stop(log.failed)
            return
        self._core.storage_full = log.is_storage_low
        self._node.room_again()

    def close(self) -> None:
        """Wait for a segment being made, bounded: its file belongs to the directory."""
        self._closed = True
        if self._thread is not None:
            self._thread.join(5.0)
