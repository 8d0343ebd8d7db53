"""Batches that a replica misses: behind its head, or damaged in its log.

Inside a view any normal member has the log of the view and may answer (`GetLog`). A body is
asked for by identity, of anybody (`GetBatches`), and only a batch whose identity is on the
own chain is taken (H-4). Who does not have a batch, or cannot read it, is silent: a "no"
outside a view change proves nothing (H-3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.log.superblock import BatchId
from fusee.vr import staging, writing
from fusee.vr.asking import BATCHES_PER_MESSAGE_MAX, ask
from fusee.vr.backup import decoded, learn, take
from fusee.vr.messages import Batches, LogRange
from fusee.vr.promises import may_speak
from fusee.vr.ready import ReadLog

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fusee.log.batch import Batch
    from fusee.vr.messages import GetBatches, GetLog
    from fusee.vr.ready import Ready
    from fusee.vr.state import ReplicaState

BYTES_PER_MESSAGE_MAX = 1 << 20


def on_get_log(state: ReplicaState, slot: int, message: GetLog, ready: Ready) -> None:
    """A member of the same view is behind. Before the view begins it may learn what is decided."""
    if message.view != state.view or not may_speak(state):
        return
    after = message.after
    end_op = state.head_op if state.is_normal else state.commit_op
    if after.op >= end_op:
        return
    if after.op < state.tail.base.op:
        ready.reads.append(ReadLog(slot, after, until_op=state.tail.base.op))
        return
    if state.tail.hash_at(after.op) != after.hash:
        return  # Not a log of this view: its owner is still to learn of it.
    entries = state.tail.after(after.op)[: end_op - after.op]
    batches = fitting(entry.batch for entry in entries)
    if batches:
        ready.messages.append((slot, range_of(state, after, batches)))


def fitting(batches: Iterable[Batch | None]) -> list[Batch]:
    """Return as many batches as one message takes, at least one, up to one that cannot be read."""
    taken: list[Batch] = []
    size_bytes = 0
    for batch in batches:
        if batch is None or len(taken) == BATCHES_PER_MESSAGE_MAX:
            break
        size_bytes += len(batch.data)
        if taken and size_bytes > BYTES_PER_MESSAGE_MAX:
            break
        taken.append(batch)
    return taken


def on_read(state: ReplicaState, read: ReadLog, batches: Sequence[Batch], ready: Ready) -> None:
    """The disk has given what a member asked for, or a part of it, or nothing."""
    if not batches:
        return
    if read.after is None:
        ready.messages.append((read.to, _bodies(state, batches)))
    elif may_speak(state):
        # What is decided is in the log of every later view, so also of one entered meanwhile.
        ready.messages.append((read.to, range_of(state, read.after, batches)))


def range_of(state: ReplicaState, after: BatchId, batches: Iterable[Batch]) -> LogRange:
    """Return the message that carries batches of this view's log."""
    return LogRange(
        epoch=state.epoch,
        view=state.view,
        after=after,
        batches=tuple(batch.data for batch in batches),
        commit=state.commit,
    )


def on_log_range(state: ReplicaState, message: LogRange, now_ns: int, ready: Ready) -> None:
    """Batches of this view's log, from the primary or from another backup."""
    if message.view != state.view:
        return
    if not state.is_normal:
        staging.on_range(state, message, ready)
        return
    if state.is_primary:
        return
    for batch in decoded(state, message.batches):
        take(state, batch, ready)
    learn(state, message.commit)
    if state.early or message.commit.op > state.head_op:
        state.may_ask_ns = 0
        ask(state, now_ns, ready)


def on_get_batches(state: ReplicaState, slot: int, message: GetBatches, ready: Ready) -> None:
    """Somebody misses bodies of batches whose identity it knows."""
    found: list[Batch] = []
    older: list[BatchId] = []
    for wanted in message.wanted[:BATCHES_PER_MESSAGE_MAX]:
        entry = state.tail.get(wanted.op)
        if wanted.op <= state.tail.base.op:
            older.append(wanted)
        elif entry is not None and entry.hash == wanted.hash and entry.batch is not None:
            found.append(entry.batch)
    if found:
        ready.messages.append((slot, _bodies(state, found)))
    if older:
        ready.reads.append(ReadLog(slot, None, wanted=tuple(older)))


def _bodies(state: ReplicaState, found: Iterable[Batch]) -> Batches:
    data = tuple(batch.data for batch in fitting(found))
    return Batches(epoch=state.epoch, view=state.saved_view, batches=data)


def on_batches(state: ReplicaState, message: Batches, ready: Ready) -> bool:
    """Bodies that were asked for; return whether the log to be installed got one of its own."""
    has_come = False
    for batch in decoded(state, message.batches):
        identity = BatchId(batch.op, batch.hash)
        job = state.job
        if job is not None and identity in job.links and identity not in job.bodies:
            job.bodies[identity] = batch
            state.may_ask_ns = 0  # There is progress: go on at once.
            has_come = True
        writing.repair(state, batch, ready)
    return has_come
