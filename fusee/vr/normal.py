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

from fusee.base.ids import OpNumber
from fusee.log.batch import build_batch
from fusee.vr import writing
from fusee.vr.backup import acknowledge
from fusee.vr.choice import Diverged
from fusee.vr.deciding import decide
from fusee.vr.messages import Prepare
from fusee.vr.quorum import quorum_op
from fusee.vr.state import ReplicaStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fusee.log.batch import Batch
    from fusee.vr.messages import PrepareOk
    from fusee.vr.ready import Ready
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


# ---------------------------------------------------------------- a group: the primary


def can_propose(state: ReplicaState) -> bool:
    """Whether the primary may order another batch now (G-4, N-7, N-8, SD-1)."""
    return (
        state.is_normal
        and state.is_primary
        and not state.is_abdicated
        and state.head_op - state.commit_op < state.limits.window_batches
        and state.head_op - state.durable_op < state.limits.lag_batches
    )


def propose(
    state: ReplicaState, sections: Sequence[tuple[int, bytes]], now_us: int, ready: Ready
) -> Batch:
    """Order the next batch of a group: shipped to the others first, written second (N-1)."""
    assert can_propose(state)
    batch = on_groups(state, OpNumber(state.head_op + 1), sections, now_us)
    writing.append(state, batch)
    message = Prepare(epoch=state.epoch, view=state.view, batch=batch.data, commit=state.commit)
    ready.messages += [(slot, message) for slot in state.others]
    writing.pump(state, ready)
    return batch


def on_prepare_ok(state: ReplicaState, slot: int, message: PrepareOk, ready: Ready) -> None:
    """A member's disk holds our log up to some op, or it has answered a heartbeat."""
    if message.view != state.view or not (state.is_normal and state.is_primary):
        return
    durable = message.durable
    mine = state.tail.hash_at(durable.op)
    if durable.op > state.head_op or (mine is not None and mine != durable.hash):
        raise Diverged(durable.op, f"member {slot} has made another batch of this view durable")
    if durable.op > state.durable.get(slot, 0):
        state.durable[slot] = OpNumber(durable.op)
        decide(state, ready)
    # When the heartbeat was sent that it answers: a late answer proves nothing about now.
    state.heard_ns[slot] = max(message.echo_ns, state.heard_ns.get(slot, state.view_since_ns))


def after_write(state: ReplicaState, ready: Ready, *, has_moved: bool) -> None:
    """A write has ended: say what is durable now, or count it, and write on."""
    if has_moved and state.is_normal:
        if state.is_primary:
            decide(state, ready)
        else:
            acknowledge(state, ready)
    writing.pump(state, ready)
