"""The log of `:memory:`: the same replica on a device whose write completes at once.

Keeps the newest batches, as many as a window has and as large, for readers that follow the
commits; nothing of it survives the process.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from fusee.base.limits import WINDOW_BATCHES_MAX, WINDOW_BYTES_MAX

if TYPE_CHECKING:
    from collections.abc import Callable

    from fusee.log.batch import Batch


class MemoryLog:
    """Implements `node.storage.Storage`."""

    is_instant = True

    def __init__(self) -> None:
        self._batches: deque[Batch] = deque()
        self._bytes = 0

    def submit(
        self, batch: Batch, durable_op: int, on_done: Callable[[BaseException | None], None]
    ) -> None:
        """Keep a batch; it is as durable as it will ever be."""
        batches = self._batches
        batches.append(batch)
        self._bytes += len(batch.data)
        while len(batches) > WINDOW_BATCHES_MAX or self._bytes > WINDOW_BYTES_MAX:
            self._bytes -= len(batches.popleft().data)
        on_done(None)

    def submit_seal(self, durable_op: int, on_done: Callable[[BaseException | None], None]) -> None:
        """Nothing to witness: nothing survives."""
        on_done(None)

    def read(self, from_op: int, bytes_max: int) -> list[Batch]:
        """Return kept batches from `from_op` on."""
        found: list[Batch] = []
        size = 0
        for batch in self._batches:
            if batch.op < from_op:
                continue
            if found and size + len(batch.data) > bytes_max:
                break
            found.append(batch)
            size += len(batch.data)
        return found
