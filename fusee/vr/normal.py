"""Normal case of Viewstamped Replication: prepare, prepare_ok, commit.

One primary orders batches; every member makes them durable and says how far; a batch is
committed once a quorum holds it durably in the current view. The primary need not be in
that quorum, so its own slow disk does not slow the group. A group of one is the same
protocol with a quorum of one: its own disk is the quorum.

    groups -> on_groups --Prepare--> peers        (shipped first, N-1)
                  |
                  '--write--> disk --> on_written --> commit

Each handler takes the state, one input, and a Ready to fill in. None of them blocks,
writes or reads a clock. Handlers leave the state valid even when they refuse their input.

Paper: Liskov and Cowling, VR Revisited (2012), section 4.1. We differ in one thing: a
member acknowledges how far it is durable, not single operations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from fusee.log.batch import build_batch
from fusee.vr.quorum import quorum_op
from fusee.vr.state import ReplicaStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fusee.base.ids import BatchHash, OpNumber
    from fusee.vr.ready import Ready
    from fusee.vr.state import ReplicaState


def on_groups(
    state: ReplicaState, sections: Sequence[tuple[int, bytes]], now_us: int, ready: Ready
) -> None:
    """The primary orders one more batch. The driver respects the window before it calls."""
    assert state.status is ReplicaStatus.NORMAL, "only a normal primary proposes (G-4)"
    assert state.slot == state.view % state.member_count, "only the primary of a view proposes"
    ts_us = state.head_ts_us = max(now_us, state.head_ts_us)
    batch = build_batch(
        group_id=state.group_id,
        epoch=state.epoch,
        view=state.view,
        op=state.head_op + 1,
        prev=state.head_hash,
        commit_op=state.commit_op,
        ts_us=ts_us,
        sections=sections,
    )
    state.head_op = cast("OpNumber", batch.op)
    state.head_hash = cast("BatchHash", batch.hash)
    if state.member_count > 1:
        ready.prepare = batch
    ready.write = batch


def on_written(state: ReplicaState, op: int, ready: Ready) -> None:
    """The own disk holds everything up to `op`."""
    assert op <= state.head_op, "the disk holds a batch that was never appended"
    assert op > state.durable[state.slot], "writes complete in order, each once (S-3)"
    state.durable[state.slot] = cast("OpNumber", op)
    # Rule N-2: commit is the q-th largest durable op of this view's members.
    decided = quorum_op(state.durable.values(), state.quorum)
    if decided > state.commit_op:
        assert decided <= state.head_op, "a quorum holds what its primary never ordered"
        state.commit_op = decided
        ready.committed_op = decided
