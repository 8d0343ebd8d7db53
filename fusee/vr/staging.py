"""A log that is far ahead of the own one, on its way to the disk without passing through memory.

    a log is far ahead --GetLog--> anybody in the view --LogRange--> stage, stage, ... -> install

Whether a StartView says so or the reports of a view change: everything up to a commit
position is decided, so it is the same in every later view. Batches are asked for in order,
each proves itself by its link to the one before, and is laid beside the own log, in a bracket
that is not in force. The own log stays (V-4) until that bracket is closed together with what
is not decided yet (I-1). A view that ends meanwhile costs nothing: the next one goes on behind
what is staged (I-6).

A checkpoint in front of the log will come the same way, with the run store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.log.superblock import BatchId
from fusee.vr.asking import ask_behind, may_ask
from fusee.vr.backup import decoded
from fusee.vr.choice import Diverged
from fusee.vr.ready import Stage
from fusee.vr.state import InstallJob, Staged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fusee.log.batch import Batch
    from fusee.vr.messages import LogRange
    from fusee.vr.ready import Ready
    from fusee.vr.state import ReplicaState


def begin(
    state: ReplicaState,
    links: Sequence[BatchId],
    commit: BatchId,
    start: BatchId | None,
    now_ns: int,
) -> None:
    """Take up a log of which no more is known than `commit` and the ops above, `links`.

    `start` is the head of the log the view began with; None if it begins with this one.
    """
    damaged = next((entry.op - 1 for entry in state.tail.damaged()), state.commit_op)
    # What is damaged is staged again too: behind the bracket nothing remembers it (V-13).
    base = state.tail.id_at(min(state.commit_op, damaged, state.tail.first_in_memory() - 1))
    head = links[-1] if links else commit
    state.job = InstallJob(state.view, start or head, commit, base, [*links], {}, is_far=True)
    state.may_ask_ns = now_ns


def is_complete(state: ReplicaState, job: InstallJob) -> bool:
    """Whether all that is decided of the log to be installed is staged, or none has to be."""
    if not job.is_far:
        return True
    return not state.is_staging and state.staged == Staged(job.base, job.commit)


def go_on(state: ReplicaState, now_ns: int, ready: Ready) -> None:
    """Ask for what follows the staged batches."""
    job, staged = state.job, state.staged
    assert job is not None
    if state.is_staging:
        return
    if staged is None or staged.base != job.base or staged.head.op > job.commit.op:
        # Also what was on its way when a view began with less than the last one knew.
        staged = state.staged = Staged(job.base, job.base)
    if may_ask(state, now_ns):
        ask_behind(state, staged.head, ready)


def on_range(state: ReplicaState, message: LogRange, ready: Ready) -> None:
    """Batches that were asked for: lay those down that follow the staged ones."""
    job, staged = state.job, state.staged
    if job is None or not job.is_far or staged is None or state.is_staging:
        return
    if message.after != staged.head:
        return  # An answer that has come twice.
    head = staged.head
    batches: list[Batch] = []
    for batch in decoded(state, message.batches):
        if batch.op > job.commit.op:
            break
        if batch.op != head.op + 1 or batch.prev != head.hash:
            raise Diverged(batch.op, "a member of this view has a log that does not follow ours")
        head = BatchId(batch.op, batch.hash)
        batches.append(batch)
    if head.op == job.commit.op and head != job.commit:
        raise Diverged(head.op, "members of this view have decided different batches")
    if batches:
        state.is_staging = True
        ready.stage = Stage(staged.base, staged.head, tuple(batches), head)


def on_staged(state: ReplicaState, stage: Stage, now_ns: int) -> None:
    """Batches lie beside the log."""
    assert state.is_staging, "a stage has ended that was not under way"
    state.is_staging = False
    if state.staged == Staged(stage.base, stage.after):
        state.staged = Staged(stage.base, stage.head)
        state.may_ask_ns = 0  # There is progress: go on at once, and the view goes on (V-5).
        state.view_since_ns = now_ns
