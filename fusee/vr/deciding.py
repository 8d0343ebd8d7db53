"""How far the log is decided, and saying so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.base.ids import OpNumber
from fusee.vr.messages import Commit
from fusee.vr.quorum import quorum_op

if TYPE_CHECKING:
    from fusee.vr.ready import Ready
    from fusee.vr.state import ReplicaState


def decide(state: ReplicaState, ready: Ready) -> None:
    """Rule N-2: decided is what a quorum of this view's members holds durably."""
    decided = quorum_op(state.durable.values(), state.quorum)
    if decided > state.commit_op:
        set_commit(state, decided)
        beat(state, ready)


def beat(state: ReplicaState, ready: Ready) -> None:
    """Say that the view goes on, and what is decided."""
    message = Commit(
        epoch=state.epoch,
        view=state.view,
        commit=state.commit,
        head_op=state.head_op,
        sent_ns=state.beat_ns,
    )
    ready.messages += [(slot, message) for slot in state.others]


def set_commit(state: ReplicaState, op: int) -> None:
    """Everything up to `op` of this log is decided."""
    assert state.commit_op <= op <= state.head_op
    state.commit_op = OpNumber(op)
    state.views_without_commit = 0
    state.tail.forget(min(op, state.durable_op) - state.limits.kept_batches)
