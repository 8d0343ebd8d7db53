"""Normal case of Viewstamped Replication: prepare, prepare_ok, commit.

One primary orders batches; every member makes them durable and says how far; a batch is
committed once a quorum holds it durably in the current view. The primary need not be in
that quorum, so its own slow disk does not slow the group. A group of one is the same
protocol with a quorum of one: its own disk is the quorum.

    groups -> on_groups --Prepare--> peers        (shipped first, N-1)
                  |
                  '--write--> disk --> on_written --> commit

Each handler takes the state and one input, and returns what it decided. None of them blocks,
writes or reads a clock. Handlers leave the state valid even when they refuse their input.

Paper: Liskov and Cowling, VR Revisited (2012), section 4.1. We differ in one thing: a
member acknowledges how far it is durable, not single operations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.log.batch import build_batch
from fusee.vr.quorum import quorum_op
from fusee.vr.state import ReplicaStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fusee.base.ids import OpNumber
    from fusee.log.batch import Batch
    from fusee.vr.state import ReplicaState


def on_groups(
    state: ReplicaState,
    op: OpNumber,
    sections: Sequence[tuple[int, bytes]],
    now_us: int,
) -> Batch:
    """The primary orders the next batch. The driver respects the window before it calls.

    The driver ships the batch to the peers first and submits its own write second (N-1).
    """
    assert op == state.head_op + 1, "ops are dense"
    assert state.status is ReplicaStatus.NORMAL, "only a normal primary proposes (G-4)"
    assert state.slot == state.view % state.member_count, "only the primary of a view proposes"
    ts_us = state.head_ts_us if state.head_ts_us > now_us else now_us
    batch = build_batch(
        state.group_id,
        state.epoch,
        state.view,
        op,
        state.head_hash,
        state.commit_op,
        ts_us,
        sections,
    )
    state.head_op = op
    state.head_hash = batch.hash
    state.head_ts_us = ts_us
    return batch


def on_written(state: ReplicaState, op: OpNumber) -> bool:
    """The own disk holds everything up to `op`; return whether the commit position moved."""
    durable = state.durable
    assert op <= state.head_op, "the disk holds a batch that was never appended"
    assert op == durable[state.slot] + 1, "writes complete in order, each once (S-3)"
    durable[state.slot] = op
    # Rule N-2: commit is the q-th largest durable op of this view's members.
    decided = op if state.quorum == 1 else quorum_op(durable.values(), state.quorum)
    if decided <= state.commit_op:
        return False
    assert decided <= state.head_op, "a quorum holds what its primary never ordered"
    state.commit_op = decided
    return True
