"""Entering a view, and telling its primary what the own log holds.

    enter(v): status VIEW_CHANGE, v on disk --DoViewChange--> all members of the epoch
    primary(v), with a quorum of them: choose -> install the log -> lead

Nothing is truncated on hearing of a later view (V-4): the old log stays in force until a
bracket with the complete new one is durable, and is what this member reports until then.

Paper: Liskov and Cowling, VR Revisited (2012), section 4.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.base.ids import View
from fusee.vr import installing, staging
from fusee.vr.choice import Chosen, choose
from fusee.vr.messages import DoViewChange
from fusee.vr.promises import may_vouch, save
from fusee.vr.state import ReplicaStatus

if TYPE_CHECKING:
    from fusee.vr.ready import Ready
    from fusee.vr.state import ReplicaState


def enter(state: ReplicaState, view: int, now_ns: int, ready: Ready) -> None:
    """Move to a later view. Nothing that shows it leaves before it is durable (G-1)."""
    assert view > state.view, "views only grow (J3)"
    if state.status is ReplicaStatus.NORMAL:
        ready.has_new_role = True
    state.view = View(view)
    state.status = ReplicaStatus.VIEW_CHANGE
    state.view_since_ns = now_ns
    state.views_without_commit += 1
    state.is_abdicated = False
    state.reads.clear()
    state.leaving.clear()
    state.changes.clear()
    state.early.clear()
    if state.job is not None and not state.job.is_under_way:
        state.job = None
    save(state, ready)


def may_report(state: ReplicaState) -> bool:
    """Whether a DoViewChange may leave: all it says is durable, and nothing is changing (G-2).

    V-3: a write or a bracket under way ends first, or it would change the log that was told.
    """
    return (
        state.status is ReplicaStatus.VIEW_CHANGE
        and state.job is None
        and state.writing is None
        and not state.rewriting
        and may_vouch(state)
    )


def report(state: ReplicaState, now_ns: int, ready: Ready) -> None:
    """Tell all members what this log holds (V-6), and hear it oneself."""
    if not may_report(state):
        return
    state.reported_view = state.view
    change = _opinion(state)
    ready.messages += [(slot, change) for slot in state.others]
    on_do_view_change(state, state.slot, change, now_ns, ready)


def _opinion(state: ReplicaState) -> DoViewChange:
    """Return what this log holds above the commit position: up to there all is decided."""
    unknown = state.unknown
    return DoViewChange(
        epoch=state.epoch,
        view=state.view,
        log_view=state.log_view,
        vouch=state.vouch,
        commit=state.commit,
        head_op=state.head_op,
        unknown_op=unknown.op if unknown else 0,
        unknown_op_max=state.unknown_op_max if unknown else 0,
        suffix=tuple(entry.held() for entry in state.tail.after(state.commit_op)),
    )


def on_do_view_change(
    state: ReplicaState, slot: int, message: DoViewChange, now_ns: int, ready: Ready
) -> None:
    """A member reports its log for a view of which this replica is, or will be, the primary.

    That it reports is proof enough that f + 1 members left the view before, or that its
    primary came back from a restart (V-2).
    """
    if message.view > state.view:
        enter(state, message.view, now_ns, ready)
    if message.view != state.view or not state.is_primary:
        return
    if state.is_normal:
        installing.start_others(state, [slot], ready)
        return
    if may_vouch(state) and (state.job is None or not state.job.is_submitted):
        state.changes[slot] = message  # Step 11: the newest one of a member counts.
        try_choose(state, now_ns, ready)


def try_choose(state: ReplicaState, now_ns: int, ready: Ready) -> None:
    """Choose the log of this view, if enough members have spoken."""
    if len(state.changes) < state.quorum or state.slot not in state.changes:
        return
    if state.job is not None and state.job.is_submitted:
        return
    choice = choose(state.commit, state.changes, state.quorum)
    if isinstance(choice, Chosen) and choice.is_far:
        staging.begin(state, choice.links, choice.commit, None, now_ns)
    elif isinstance(choice, Chosen):
        installing.begin(state, choice.links, choice.commit, None, now_ns, ready)


def on_nothing_under_way(state: ReplicaState, now_ns: int, ready: Ready) -> None:
    """A write, a bracket or a save has ended: what waited for it may go on."""
    if state.status is not ReplicaStatus.VIEW_CHANGE:
        return
    if state.job is not None:
        installing.go_on(state, now_ns, ready)
    elif state.reported_view != state.view:
        report(state, now_ns, ready)
