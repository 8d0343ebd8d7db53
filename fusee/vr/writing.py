"""From the head of the log to the disk, one batch at a time and in order (S-3).

    append -> tail: MEMORY -> write under way -> on_written -> DURABLE

A completion counts only if the log still holds the batch and has not been replaced (S-4):
otherwise the write of a batch that a later view dropped would make its successor durable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.base.ids import OpNumber
from fusee.log.superblock import BatchId
from fusee.vr.messages import Place
from fusee.vr.ready import Rewrite, Write
from fusee.vr.tail import entry_of

if TYPE_CHECKING:
    from fusee.log.batch import Batch
    from fusee.vr.ready import Ready
    from fusee.vr.state import ReplicaState


def append(state: ReplicaState, batch: Batch) -> None:
    """Put a batch at the head of the log, in memory. `pump` writes it."""
    state.tail.append(entry_of(batch, Place.MEMORY))
    state.take_head()


def pump(state: ReplicaState, ready: Ready) -> None:
    """Submit the next write if none is under way."""
    if state.writing is not None or not state.is_normal:
        return
    entry = state.tail.get(max(state.unwritten_op, state.durable_op + 1))
    while entry is not None and entry.place is not Place.MEMORY:
        entry = state.tail.get(entry.op + 1)
    if entry is None:
        return
    assert entry.batch is not None, "a batch in memory without its body"
    state.writing = BatchId(entry.op, entry.hash)
    state.unwritten_op = entry.op + 1
    ready.write = Write(entry.batch, state.log_gen, state.durable_op)


def on_completed(state: ReplicaState, written: BatchId, log_gen: int) -> bool:
    """A write has ended well; return whether more of the log is durable now."""
    assert state.writing == written, "a write ended that was not under way"
    state.writing = None
    return _made_durable(state, written, log_gen)


def _made_durable(state: ReplicaState, written: BatchId, log_gen: int) -> bool:
    entry = state.tail.get(written.op)
    if log_gen != state.log_gen or entry is None or entry.hash != written.hash:
        return False
    entry.place = Place.DURABLE
    return advance(state)


def advance(state: ReplicaState) -> bool:
    """Let durable reach up to the first op whose body is not; return whether it moved."""
    durable_op = OpNumber(state.tail.first_not_durable(state.durable_op) - 1)
    if durable_op <= state.durable_op:
        return False
    state.durable[state.slot] = durable_op
    if state.unknown is not None and durable_op >= state.unknown.op:
        # V-11: what was in doubt has been written again, under this log view.
        state.unknown, state.unknown_op_max = None, 0
    return True


def repair(state: ReplicaState, batch: Batch, ready: Ready) -> None:
    """Write the body of a damaged entry again (H-1); another batch of its op is ignored (H-4)."""
    entry = state.tail.get(batch.op)
    if entry is None or entry.hash != batch.hash or entry.place is not Place.DAMAGED:
        return
    entry.batch = batch
    if batch.op not in state.rewriting:
        state.rewriting.add(batch.op)
        ready.rewrites.append(Rewrite(batch, state.log_gen))


def on_rewritten(state: ReplicaState, written: BatchId, log_gen: int) -> bool:
    """A damaged batch is whole again; return whether more of the log is durable now."""
    state.rewriting.discard(written.op)
    return _made_durable(state, written, log_gen)
