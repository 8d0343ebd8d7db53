"""Promises of the superblock: asked for, under way, kept.

A message that shows a view leaves only once the view is durable (G-1), one that vouches for
a log only once its log view is (G-2). One update is under way at a time; what changed
meanwhile is the next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.vr.ready import Save

if TYPE_CHECKING:
    from fusee.vr.ready import Ready
    from fusee.vr.state import ReplicaState


def save(state: ReplicaState, ready: Ready) -> None:
    """Have what is promised now made durable."""
    if not state.is_saving:
        state.is_saving = True
        ready.save = Save(state.view, state.log_view, state.vouch, state.unknown)


def on_saved(state: ReplicaState, saved: Save, ready: Ready) -> bool:
    """The superblock holds `saved`; return whether that is all that is promised now."""
    assert state.is_saving
    assert saved.view >= state.saved_view, "a promise went back (J3)"
    assert saved.log_view >= state.saved_log_view, "a promise went back (J3)"
    state.is_saving = False
    state.saved_view, state.saved_log_view = saved.view, saved.log_view
    if (saved.view, saved.log_view) == (state.view, state.log_view):
        return True
    save(state, ready)
    return False


def may_speak(state: ReplicaState) -> bool:
    """Whether messages of the current view may leave (G-1)."""
    return state.saved_view == state.view


def may_vouch(state: ReplicaState) -> bool:
    """Whether messages that rest on the log of the current log view may leave (G-2)."""
    return state.saved_view == state.view and state.saved_log_view == state.log_view
