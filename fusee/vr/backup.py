"""The normal case on a backup: take the primary's batches in order, and acknowledge them.

Paper: Liskov and Cowling, VR Revisited (2012), section 4.1, step 4. We differ: what is
acknowledged is how far the own disk holds the log of this view, not one operation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.log.batch import BadBatch, decode_batch
from fusee.vr import writing
from fusee.vr.asking import ask
from fusee.vr.choice import Diverged
from fusee.vr.deciding import set_commit
from fusee.vr.messages import PrepareOk
from fusee.vr.promises import may_vouch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fusee.log.batch import Batch
    from fusee.log.superblock import BatchId
    from fusee.vr.messages import Commit, Prepare
    from fusee.vr.ready import Ready
    from fusee.vr.state import ReplicaState


def on_prepare(state: ReplicaState, message: Prepare, now_ns: int, ready: Ready) -> None:
    """The primary of the view has ordered a batch."""
    if message.view != state.view or not state.is_normal or state.is_primary:
        return
    for batch in decoded(state, (message.batch,)):
        state.heard_ns[state.primary] = now_ns
        take(state, batch, ready)
        learn(state, message.commit)
        if batch.op > state.head_op:
            ask(state, now_ns, ready)


def decoded(state: ReplicaState, data: Iterable[bytes]) -> Iterator[Batch]:
    """Yield the batches of this group, up to the first bytes that are none.

    The transport counts those; a sound peer does not send them, and what it meant is asked
    for again.
    """
    for one in data:
        try:
            batch = decode_batch(one)
        except BadBatch:
            return
        if batch.group_id == state.group_id:
            yield batch


def take(state: ReplicaState, batch: Batch, ready: Ready) -> None:
    """Append a batch of this view's log if it is the next one, with those kept behind it."""
    op = batch.op
    if op <= state.head_op:
        mine = state.tail.hash_at(op)
        if mine is not None and mine != batch.hash:
            raise Diverged(op, "the primary of this view has ordered another batch before")
        writing.repair(state, batch, ready)
        acknowledge(state, ready)  # N-5: the first answer may be lost.
        return
    if op <= state.head_op + state.limits.window_batches:
        state.early[op] = batch
    while (following := state.early.pop(state.head_op + 1, None)) is not None:
        if following.prev != state.head_hash:
            raise Diverged(following.op, "the primary's batch does not follow this log (N-4)")
        writing.append(state, following)
    writing.pump(state, ready)


def acknowledge(state: ReplicaState, ready: Ready) -> None:
    """Tell the primary how far this disk holds the view's log (G-3)."""
    if not (state.is_normal and may_vouch(state)) or state.is_primary:
        return
    message = PrepareOk(
        epoch=state.epoch,
        view=state.view,
        durable=_durable_id(state),
        head_op=state.head_op,
        echo_ns=state.echo_ns,
    )
    ready.messages.append((state.primary, message))


def _durable_id(state: ReplicaState) -> BatchId:
    """Identity of the newest durable batch; where it is forgotten, of what the tail knows."""
    return state.tail.id_at(max(state.durable_op, state.tail.base.op))


def on_commit(state: ReplicaState, message: Commit, now_ns: int, ready: Ready) -> None:
    """The primary's heartbeat."""
    if message.view != state.view or not state.is_normal or state.is_primary:
        return
    state.heard_ns[state.primary] = now_ns
    learn(state, message.commit)
    state.echo_ns = message.sent_ns
    acknowledge(state, ready)
    if message.head_op > state.head_op:
        ask(state, now_ns, ready)


def learn(state: ReplicaState, commit: BatchId) -> None:
    """Take over what is decided, as far as this log of this view reaches (N-6)."""
    assert state.log_view == state.view
    if commit.op <= state.head_op:
        mine = state.tail.hash_at(commit.op)
        if mine is not None and mine != commit.hash:
            raise Diverged(commit.op, "the primary of this view has decided another batch")
    op = min(commit.op, state.head_op)
    if op > state.commit_op:
        set_commit(state, op)
