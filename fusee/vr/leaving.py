"""Leaving a view: a member that suspects says so; f + 1 of them move on together (V-1).

A member whose incoming link is broken suspects for ever. If it could leave alone, it would
depose every primary; so it stays normal, goes on acknowledging, and only asks. Silence is
the proof; a connection that breaks is a hint and asks at once (N-11).

    normal --silence, or a broken connection--> ExitView(v) to all
    f + 1 ExitView(v), the own included --> view v + 1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.vr.messages import ExitView
from fusee.vr.promises import may_speak

if TYPE_CHECKING:
    from fusee.vr.ready import Ready
    from fusee.vr.state import ReplicaState


def would_leave(state: ReplicaState, ready: Ready) -> bool:
    """Ask to leave the view; return whether enough members ask for it now."""
    if not may_speak(state):
        return False
    message = ExitView(epoch=state.epoch, view=state.view)
    ready.messages += [(slot, message) for slot in state.others]
    state.leaving.add(state.slot)
    return len(state.leaving) >= state.quorum


def on_exit_view(state: ReplicaState, slot: int, message: ExitView) -> bool:
    """A member would leave a view; return whether enough of them would leave this one."""
    if message.view != state.view or not may_speak(state):
        return False
    state.leaving.add(slot)
    return len(state.leaving) >= state.quorum


def silence_ns(state: ReplicaState) -> int:
    """How long this backup waits for its primary.

    Members wait for different times, the next primary the shortest one, so that two of them
    do not move on at cross purposes.
    """
    behind = (state.slot - state.view - 1) % state.member_count
    return state.timing.silence_ns * (2 * state.member_count + behind) // (2 * state.member_count)


def patience_ns(state: ReplicaState) -> int:
    """How long this member waits for a view to begin: longer with each one that failed (V-5)."""
    return 2 * silence_ns(state) << min(state.views_without_commit, 6)
