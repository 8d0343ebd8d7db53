"""What a handler wants done, and in which order.

The driver owes these duties, in this order:

1. `persist_view`: the superblock is durable before anything else of this Ready, because a
   promise that is not on disk is no promise (G-1, G-2).
2. `prepare`: shipped to the peers before the own write is submitted (N-1).
3. `write`: submitted to the log; `on_written` is called when it is durable.
4. `committed_op`: outputs up to it may leave.

A driver may use one Ready again and again: it takes what is set and resets it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from fusee.base.ids import OpNumber
    from fusee.log.batch import Batch


class Ready(msgspec.Struct):
    """Decisions of one handler, filled in by it and emptied by the driver."""

    persist_view: bool = False
    prepare: Batch | None = None
    write: Batch | None = None
    committed_op: OpNumber | None = None
