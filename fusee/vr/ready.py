"""What a handler wants done, and in which order.

The driver owes these duties, in this order:

1. `persist_view`: the superblock is durable before anything else of this Ready, because a
   promise that is not on disk is no promise (G-1, G-2).
2. `prepares`: shipped to the peers before the own write is submitted (N-1).
3. `writes`: submitted to the log in order; `on_written` is called when each is durable.
4. `committed_op`: outputs up to it may leave.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from fusee.base.ids import OpNumber
    from fusee.log.batch import Batch


class Ready(msgspec.Struct):
    """Decisions of one or more handlers, filled in by them and emptied by the driver."""

    persist_view: bool = False
    prepares: list[Batch] = []
    writes: list[Batch] = []
    committed_op: OpNumber | None = None
