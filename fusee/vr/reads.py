"""Reads that a deposed primary cannot answer: each is confirmed by a quorum (Q-1).

    ask -> heartbeat -> q - 1 answers to one that was sent after -> all of then is decided -> yes

A primary that was paused, or cut off, may have been replaced without knowing. So it answers
from its state only once enough members have followed it *after* the question came: what
counts is when the heartbeat was sent that they answer, not when the answer arrives (Q-2).
One heartbeat serves all that wait. A refusal is a read, too: "there is no such run" rests on
the whole state.

Source: Ongaro (2014), section 6.4. We differ: sequence numbers are the send times that
heartbeats carry anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fusee.vr.deciding import beat

if TYPE_CHECKING:
    from fusee.vr.ready import Ready
    from fusee.vr.state import ReplicaState


class Read(msgspec.Struct, frozen=True, gc=False):
    """A question that waits. `token` is the asker's own."""

    token: int
    asked_ns: int
    head_op: int
    """What the answer rests on: everything ordered when it was asked, decided or not."""


def ask(state: ReplicaState, token: int, now_ns: int, ready: Ready) -> bool:
    """Let a read wait for its confirmation; False if this replica does not lead.

    A change of role forgets what waits: whoever asked is to ask the new primary.
    """
    if not (state.is_normal and state.is_primary) or state.is_abdicated:
        return False
    head_op = max(state.head_op, state.barrier_op)
    state.reads.append(Read(token, now_ns, head_op))
    if len(state.reads) == 1:
        _probe(state, now_ns, ready)
    return True


def _probe(state: ReplicaState, now_ns: int, ready: Ready) -> None:
    state.beat_ns = now_ns
    beat(state, ready)


def quorum_ns(state: ReplicaState) -> int:
    """Return when the newest heartbeat was sent that a quorum, this member included, has heard."""
    heard = sorted(state.heard_ns.get(slot, state.view_since_ns) for slot in state.others)
    return heard[-(state.quorum - 1)]


def confirm(state: ReplicaState, now_ns: int, ready: Ready) -> None:
    """Confirm what a quorum has followed since it was asked, and is decided; then ask on."""
    if not state.reads:
        return
    followed_ns = quorum_ns(state)
    waiting: list[Read] = []
    for read in state.reads:
        if read.asked_ns <= followed_ns and read.head_op <= state.commit_op:
            ready.confirmed.append(read.token)
        else:
            waiting.append(read)
    has_progress = len(waiting) < len(state.reads)
    state.reads = waiting
    if waiting and has_progress:
        _probe(state, now_ns, ready)
