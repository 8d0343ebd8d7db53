"""Asking others for batches: at most once in a while, and of one member after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.log.superblock import BatchId
from fusee.vr.messages import GetBatches, GetLog

if TYPE_CHECKING:
    from fusee.vr.ready import Ready
    from fusee.vr.state import ReplicaState

BATCHES_PER_MESSAGE_MAX = 32


def may_ask(state: ReplicaState, now_ns: int) -> bool:
    """Whether it is time to ask somebody for something; then the next time is later."""
    if now_ns < state.may_ask_ns:
        return False
    state.may_ask_ns = now_ns + state.timing.retry_ns
    state.asked_count += 1
    return True


def ask(state: ReplicaState, now_ns: int, ready: Ready) -> None:
    """Ask for what follows the own head, and for bodies that are damaged, now and then."""
    if not may_ask(state, now_ns):
        return
    if not state.is_primary:
        ask_behind(state, state.tail.head, ready)
    damaged = [BatchId(entry.op, entry.hash) for entry in state.tail.damaged()]
    if damaged:
        wanted = tuple(damaged[:BATCHES_PER_MESSAGE_MAX])
        bodies = GetBatches(epoch=state.epoch, view=state.saved_view, wanted=wanted)
        ready.messages.append((_someone(state, first=None), bodies))


def ask_behind(state: ReplicaState, after: BatchId, ready: Ready) -> None:
    """Ask for what follows a batch in the log of this view."""
    question = GetLog(epoch=state.epoch, view=state.view, after=after)
    first = None if state.is_primary else state.primary
    ready.messages.append((_someone(state, first=first), question))


def _someone(state: ReplicaState, first: int | None) -> int:
    """Return whom to ask: the primary at first, then one member after the other."""
    others = state.others
    if first is not None and state.asked_count % 2:
        return first
    return others[(state.asked_count // 2) % len(others)]
