"""The state of one replica and what must always be true of it.

Handlers of the sub-protocols change this one Struct and nothing else; `check` states the
invariants and runs after every input.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from fusee.base.ids import BatchHash, Epoch, OpNumber, View
from fusee.vr.quorum import quorum_size


class ReplicaStatus(Enum):
    """What a replica may do; see docs/internals/replication.md for the statuses of a group."""

    RECOVERING = "recovering"
    """The log is read, but the view it may lead is not on disk yet."""
    NORMAL = "normal"


class ReplicaState(msgspec.Struct):
    """One replica. `durable` maps a slot to the op its member holds durably in this view."""

    group_id: bytes
    slot: int
    member_count: int
    epoch: Epoch
    view: View
    log_view: View
    status: ReplicaStatus
    head_op: OpNumber
    head_hash: BatchHash
    head_ts_us: int
    commit_op: OpNumber
    durable: dict[int, OpNumber]
    quorum: int = 0

    def __post_init__(self) -> None:
        """Derive the quorum once: it is read on every commit."""
        self.quorum = quorum_size(self.member_count)

    @property
    def primary(self) -> int:
        """Slot of the member that leads the current view."""
        return self.view % self.member_count

    @property
    def durable_op(self) -> OpNumber:
        """The op up to which this replica's own disk holds everything."""
        return self.durable[self.slot]

    def check(self) -> None:
        """Assert what is believed about this state; a wrong belief must stop the replica."""
        assert self.log_view <= self.view, "a log cannot be of a view not yet entered"
        assert self.durable[self.slot] <= self.head_op, "durable beyond what was appended"
        assert self.commit_op <= self.head_op, "committed beyond what was appended"
        if self.status is ReplicaStatus.NORMAL:
            assert self.log_view == self.view, "normal operation on a log of another view (G-4)"
