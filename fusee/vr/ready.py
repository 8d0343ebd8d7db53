"""What the driver owes a replica before it may go on.

Handlers of the normal case return their one decision. Those that change what the replica
has promised fill in a Ready: a promise that is not on disk is no promise, so the driver
makes it durable before any message or write that rests on it leaves (G-1, G-2).
"""

from __future__ import annotations

import msgspec


class Ready(msgspec.Struct):
    """Duties, in the order in which they are to be done."""

    persist_view: bool = False
    """Save view, log view and vouch in the superblock before anything else."""
