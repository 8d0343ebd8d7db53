"""What time does: heartbeats, silence, a quorum that is gone, and asking again (N-11, V-5, SD-1).

The driver calls `on_tick` about every half heartbeat, after it has read every ready socket:
a replica that woke late must hear before it judges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.vr import installing
from fusee.vr.asking import ask
from fusee.vr.deciding import beat
from fusee.vr.leaving import patience_ns, silence_ns, would_leave
from fusee.vr.promises import may_speak
from fusee.vr.reads import quorum_ns
from fusee.vr.state import ReplicaStatus
from fusee.vr.view_change import enter, report, try_choose

if TYPE_CHECKING:
    from fusee.vr.ready import Ready
    from fusee.vr.state import ReplicaState


def on_tick(state: ReplicaState, now_ns: int, ready: Ready) -> None:
    """Time has passed."""
    if state.status is ReplicaStatus.NORMAL:
        if state.is_primary:
            _lead(state, now_ns, ready)
        else:
            _follow(state, now_ns, ready)
    elif state.status is ReplicaStatus.VIEW_CHANGE:
        _change(state, now_ns, ready)


def _is_due(state: ReplicaState, now_ns: int) -> bool:
    if now_ns < state.beat_ns + state.timing.heartbeat_ns:
        return False
    state.beat_ns = now_ns
    return True


def _lead(state: ReplicaState, now_ns: int, ready: Ready) -> None:
    since_ns = quorum_ns(state)
    state.quorum_until_ns = since_ns + state.timing.quorum_ns
    state.is_abdicated = now_ns > state.quorum_until_ns
    if not _is_due(state, now_ns):
        return
    if not state.is_abdicated:
        # SD-1: an abdicated primary is silent, or its heartbeats would hinder the others.
        beat(state, ready)
        ask(state, now_ns, ready)
    elif now_ns > since_ns + 2 * state.timing.quorum_ns and would_leave(state, ready):
        enter(state, state.view + 1, now_ns, ready)  # SD-2


def _follow(state: ReplicaState, now_ns: int, ready: Ready) -> None:
    if not _is_due(state, now_ns):
        return
    heard_ns = state.heard_ns.setdefault(state.primary, now_ns)
    if now_ns - heard_ns > silence_ns(state) and would_leave(state, ready):
        enter(state, state.view + 1, now_ns, ready)
    elif any(True for _ in state.tail.damaged()):
        ask(state, now_ns, ready)


def _change(state: ReplicaState, now_ns: int, ready: Ready) -> None:
    if not _is_due(state, now_ns) or not may_speak(state):
        return
    if now_ns - state.view_since_ns > patience_ns(state) and would_leave(state, ready):
        enter(state, state.view + 1, now_ns, ready)
        return
    if state.job is not None:
        installing.go_on(state, now_ns, ready)
        return
    report(state, now_ns, ready)
    if state.is_primary:
        if state.job is None:
            try_choose(state, now_ns, ready)
    else:
        installing.ask_view(state, state.primary, state.view, ready)
