"""Coming back after a stop: which view a replica may lead.

Rule R-1: a restarted primary never leads its stored view again; it may lead a later one,
because entries that its quorum committed may be missing from its own disk. A group of one
has no such quorum but keeps the rule, and keeps the order: the new view is on disk before
the replica is normal, so no batch of a forgotten view can ever be on its log (G-4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.base.ids import View
from fusee.vr.backup import acknowledge
from fusee.vr.state import ReplicaStatus
from fusee.vr.view_change import enter

if TYPE_CHECKING:
    from fusee.vr.ready import Ready
    from fusee.vr.state import ReplicaState


def on_recovered(state: ReplicaState, ready: Ready) -> None:
    """The log of a lone replica has been read to its end, and the end is certain."""
    assert state.status is ReplicaStatus.RECOVERING
    assert state.member_count == 1, "a larger group changes views by quorum"
    state.view = View(state.view + 1)
    state.log_view = state.view
    ready.persist_view = True


def on_view_persisted(state: ReplicaState) -> None:
    """The superblock vouches for the new view: the replica may lead it."""
    assert state.status is ReplicaStatus.RECOVERING
    assert state.log_view == state.view
    state.status = ReplicaStatus.NORMAL
    state.check()


def on_member_recovered(state: ReplicaState, now_ns: int, ready: Ready) -> None:
    """The log of a member of a larger group has been read; its end may be in doubt.

    R-3: a backup that comes back in its view needs nobody's word, what it acknowledged was
    durable. A primary moves on (R-1), and whoever had left its view before goes on leaving it.
    """
    assert state.status is ReplicaStatus.RECOVERING
    assert state.member_count > 1
    state.view_since_ns = now_ns
    state.unwritten_op = state.head_op + 1
    if state.view > state.log_view:
        state.status = ReplicaStatus.VIEW_CHANGE
    elif state.is_primary:
        enter(state, state.view + 1, now_ns, ready)
    else:
        state.status = ReplicaStatus.NORMAL
        state.heard_ns[state.primary] = now_ns
        acknowledge(state, ready)
    ready.has_new_role = True
