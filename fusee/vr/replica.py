"""One member of a group: which sub-protocol an input belongs to. Decides nothing itself.

Every method takes one input and the time, and returns what is owed. The driver reports the
outcome of each duty by the method named in `fusee.vr.ready`; a failed one stops the replica
(S-8), which has no method for that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.log.superblock import BatchId
from fusee.vr import (
    backup,
    catch_up,
    deadlines,
    installing,
    leaving,
    normal,
    reads,
    staging,
    view_change,
    writing,
)
from fusee.vr.asking import may_ask
from fusee.vr.messages import (
    Batches,
    Commit,
    DoViewChange,
    ExitView,
    GetBatches,
    GetLog,
    GetView,
    LogRange,
    Prepare,
    PrepareOk,
    StartView,
)
from fusee.vr.promises import on_saved
from fusee.vr.ready import Install, ReadLog, Ready, Rewrite, Save, Stage, Write
from fusee.vr.restart import on_member_recovered
from fusee.vr.state import ReplicaStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fusee.log.batch import Batch
    from fusee.vr.messages import AnyMessage
    from fusee.vr.state import ReplicaState


class Replica:
    """A state and its inputs."""

    __slots__ = ("state",)

    def __init__(self, state: ReplicaState) -> None:
        self.state = state

    def on_recovered(self, now_ns: int) -> Ready:
        """The log has been read."""
        ready = Ready()
        on_member_recovered(self.state, now_ns, ready)
        return self._after(ready, now_ns)

    # ------------------------------------------------------------ outcomes of duties

    def on_saved(self, saved: Save, now_ns: int) -> Ready:
        """The superblock holds what was asked for."""
        ready = Ready()
        if on_saved(self.state, saved, ready):
            installing.on_promised(self.state, now_ns, ready)
        return self._after(ready, now_ns)

    def on_written(self, written: Write, now_ns: int) -> Ready:
        """A batch is durable."""
        ready = Ready()
        batch = written.batch
        identity = _identity(batch)
        has_moved = writing.on_completed(self.state, identity, written.log_gen)
        normal.after_write(self.state, ready, has_moved=has_moved)
        return self._after(ready, now_ns)

    def on_rewritten(self, rewritten: Rewrite, now_ns: int) -> Ready:
        """A damaged batch is durable again."""
        ready = Ready()
        identity = _identity(rewritten.batch)
        has_moved = writing.on_rewritten(self.state, identity, rewritten.log_gen)
        normal.after_write(self.state, ready, has_moved=has_moved)
        return self._after(ready, now_ns)

    def on_installed(self, installed: Install, now_ns: int) -> Ready:
        """A bracket is durable."""
        ready = Ready()
        installing.on_installed(self.state, installed, ready)
        return self._after(ready, now_ns)

    def on_staged(self, stage: Stage, now_ns: int) -> Ready:
        """Decided batches lie beside the log."""
        ready = Ready()
        staging.on_staged(self.state, stage, now_ns)
        return self._after(ready, now_ns)

    def on_read(self, read: ReadLog, batches: Sequence[Batch], now_ns: int) -> Ready:
        """The disk has been read for another member."""
        ready = Ready()
        catch_up.on_read(self.state, read, batches, ready)
        return self._after(ready, now_ns)

    def on_done(self, duty: Save | Write | Stage | Install | Rewrite, now_ns: int) -> Ready:
        """A duty is done, whichever it was."""
        match duty:
            case Save():
                return self.on_saved(duty, now_ns)
            case Write():
                return self.on_written(duty, now_ns)
            case Stage():
                return self.on_staged(duty, now_ns)
            case Install():
                return self.on_installed(duty, now_ns)
            case Rewrite():
                return self.on_rewritten(duty, now_ns)

    # ------------------------------------------------------------ the engine

    @property
    def can_propose(self) -> bool:
        """Whether `propose` may be called now."""
        return normal.can_propose(self.state)

    def propose(self, sections: Sequence[tuple[int, bytes]], now_us: int) -> tuple[Batch, Ready]:
        """Order the next batch."""
        ready = Ready()
        batch = normal.propose(self.state, sections, now_us, ready)
        return batch, ready

    def hand_over(self, slot: int, now_ns: int) -> Ready:
        """Let another member lead (SD-4): the next view that is its own, if this one leads."""
        ready = Ready()
        state = self.state
        if state.is_normal and state.is_primary and slot != state.slot:
            ahead = (slot - state.view) % state.member_count
            view_change.enter(state, state.view + ahead, now_ns, ready)
        return self._after(ready, now_ns)

    def read(self, token: int, now_ns: int) -> Ready | None:
        """Ask whether what this replica knows is still so; None if it does not lead.

        The token is in `Ready.confirmed` of this or a later input, or the role changes.
        """
        ready = Ready()
        return self._after(ready, now_ns) if reads.ask(self.state, token, now_ns, ready) else None

    # ------------------------------------------------------------ the others, and time

    def on_tick(self, now_ns: int) -> Ready:
        """Time has passed."""
        ready = Ready()
        deadlines.on_tick(self.state, now_ns, ready)
        return self._after(ready, now_ns)

    def on_disconnected(self, slot: int, now_ns: int) -> Ready:
        """A connection has ended: a hint that its member is dead (N-11)."""
        ready = Ready()
        state = self.state
        is_suspect = slot == state.primary and not state.is_primary
        if is_suspect and state.is_normal and leaving.would_leave(state, ready):
            view_change.enter(state, state.view + 1, now_ns, ready)
        return self._after(ready, now_ns)

    def on_message(self, slot: int, message: AnyMessage, now_ns: int) -> Ready:
        """A member of this group has said something."""
        ready = Ready()
        state = self.state
        if message.epoch != state.epoch or state.status is ReplicaStatus.RECOVERING:
            return ready
        if message.view > state.view and not self._is_ahead(slot, message, now_ns, ready):
            return ready
        self._dispatch(slot, message, now_ns, ready)
        return self._after(ready, now_ns)

    def _is_ahead(self, slot: int, message: AnyMessage, now_ns: int, ready: Ready) -> bool:
        """Hear of a later view (V-2); return whether the message is still to be handled.

        Never jump to normal, and never touch the log: only the log of that view will do.
        """
        state = self.state
        if isinstance(message, DoViewChange):
            return True
        if isinstance(message, StartView | ExitView):
            # Who asks to leave a view is in it. Without this a member that missed the view
            # would never help to leave it, though its primary is gone.
            view_change.enter(state, message.view, now_ns, ready)
            return True
        if isinstance(message, GetBatches | Batches):
            return True  # Bodies prove themselves.
        if isinstance(message, Prepare | Commit) and may_ask(state, now_ns):
            installing.ask_view(state, slot, message.view, ready)
        return False

    def _dispatch(self, slot: int, message: AnyMessage, now_ns: int, ready: Ready) -> None:
        state = self.state
        match message:
            case Prepare():
                backup.on_prepare(state, message, now_ns, ready)
            case PrepareOk():
                normal.on_prepare_ok(state, slot, message, ready)
            case Commit():
                backup.on_commit(state, message, now_ns, ready)
            case ExitView():
                self._on_exit_view(slot, message, now_ns, ready)
            case DoViewChange():
                view_change.on_do_view_change(state, slot, message, now_ns, ready)
            case StartView():
                installing.on_start_view(state, slot, message, now_ns, ready)
            case GetView():
                installing.on_get_view(state, slot, message, ready)
            case GetLog():
                catch_up.on_get_log(state, slot, message, ready)
            case LogRange():
                catch_up.on_log_range(state, message, now_ns, ready)
            case GetBatches():
                catch_up.on_get_batches(state, slot, message, ready)
            case Batches():
                if catch_up.on_batches(state, message, ready):
                    installing.go_on(state, now_ns, ready)

    def _on_exit_view(self, slot: int, message: ExitView, now_ns: int, ready: Ready) -> None:
        state = self.state
        if message.view < state.view and state.is_normal and state.is_primary:
            installing.start_others(state, [slot], ready)
        elif leaving.on_exit_view(state, slot, message):
            view_change.enter(state, state.view + 1, now_ns, ready)

    def _after(self, ready: Ready, now_ns: int) -> Ready:
        """What ended may be what a view change waits for; then believe nothing unchecked."""
        view_change.on_nothing_under_way(self.state, now_ns, ready)
        reads.confirm(self.state, now_ns, ready)
        self.state.check()
        for _, message in ready.messages:
            is_question = isinstance(message, GetView)
            assert is_question or message.view <= self.state.saved_view, "G-1: not durable yet"
        return ready


def _identity(batch: Batch) -> BatchId:
    return BatchId(batch.op, batch.hash)
