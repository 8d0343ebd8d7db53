"""Making the log of a view the own log, and beginning the view with it.

    links (identities) -> bodies from anybody -> one bracket on disk -> log view on disk -> normal

In this order (I-2): a log view that is durable before its log would vouch for a log that
nobody holds. Until the bracket is durable the old log is in force, and log and log view
change together (I-3), also if the replica has entered a later view meanwhile.

Paper: Liskov and Cowling, VR Revisited (2012), section 4.2, steps 3 to 5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.base.ids import OpNumber, View
from fusee.log.superblock import BatchId
from fusee.vr import staging
from fusee.vr.asking import BATCHES_PER_MESSAGE_MAX, may_ask
from fusee.vr.backup import acknowledge
from fusee.vr.choice import Diverged
from fusee.vr.deciding import set_commit
from fusee.vr.messages import GetBatches, GetView, Place, StartView
from fusee.vr.promises import may_speak, may_vouch, save
from fusee.vr.ready import Install
from fusee.vr.state import InstallJob, ReplicaStatus
from fusee.vr.tail import LogTail, entry_of
from fusee.vr.writing import pump

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fusee.log.batch import Batch
    from fusee.vr.ready import Ready
    from fusee.vr.state import ReplicaState


def begin(
    state: ReplicaState,
    links: Sequence[BatchId],
    commit: BatchId,
    start: BatchId | None,
    now_ns: int,
    ready: Ready,
) -> None:
    """Take up the log of the current view: `links` are its ops above the own commit position.

    `start` is the head of the log the view began with; None if it begins with this one.
    """
    assert state.status is ReplicaStatus.VIEW_CHANGE
    # What is decided may not be on this disk yet; what is damaged there stays so for now (I-5).
    base = state.tail.id_at(min(state.commit_op, state.tail.first_in_memory() - 1))
    links = [state.tail.id_at(op) for op in range(base.op + 1, state.commit_op + 1)] + [*links]
    for place, link in enumerate(links):
        entry = state.tail.get(link.op)
        if entry is None or entry.hash != link.hash or entry.place is not Place.DURABLE:
            rest = list(links[place:])
            break
        base = link
    else:
        rest = []
    head = rest[-1] if rest else base
    state.job = InstallJob(state.view, start or head, commit, base, rest, {})
    state.may_ask_ns = now_ns
    go_on(state, now_ns, ready)


def go_on(state: ReplicaState, now_ns: int, ready: Ready) -> None:
    """Ask for the bodies that are missing, or write the log if none is (I-1)."""
    job = state.job
    if job is None or job.is_submitted or not may_speak(state) or state.writing is not None:
        return
    if not staging.is_complete(state, job):
        staging.go_on(state, now_ns, ready)
        return
    missing = [link for link in job.links if _body(state, job, link) is None]
    if missing and not may_ask(state, now_ns):
        return
    if missing:
        wanted = tuple(missing[:BATCHES_PER_MESSAGE_MAX])
        question = GetBatches(epoch=state.epoch, view=state.saved_view, wanted=wanted)
        ready.messages += [(slot, question) for slot in state.others]
        return
    job.is_submitted = True
    if not job.links and job.base.op == state.head_op and not job.is_far:
        _adopt(state, job, (), ready)  # The own log is that log, to the byte.
        return
    batches = tuple(body for link in job.links if (body := _body(state, job, link)) is not None)
    staged = job.commit if job.is_far else job.base
    head = job.links[-1] if job.links else staged
    ready.install = Install(job.view, job.base, staged, batches, job.start, head)


def _body(state: ReplicaState, job: InstallJob, link: BatchId) -> Batch | None:
    entry = state.tail.get(link.op)
    if entry is not None and entry.hash == link.hash and entry.place is not Place.DAMAGED:
        return entry.batch
    return job.bodies.get(link)


def on_installed(state: ReplicaState, installed: Install, ready: Ready) -> None:
    """The bracket is durable: the log is that of its view, whatever view this replica is in."""
    job = state.job
    assert job is not None
    assert job.is_submitted
    assert job.view == installed.view
    _adopt(state, job, installed.batches, ready)


def _adopt(state: ReplicaState, job: InstallJob, batches: Iterable[Batch], ready: Ready) -> None:
    entries = [entry_of(batch, Place.DURABLE) for batch in batches]
    if job.is_far:
        state.tail = LogTail(job.commit, entries)
        state.commit_op = OpNumber(job.commit.op)
    else:
        state.tail.replace_after(job.base.op, entries)
    state.staged = None
    state.log_gen += 1
    state.rewriting.clear()
    state.log_view = View(job.view)
    state.vouch = job.start
    state.unknown, state.unknown_op_max = None, 0
    kept_op = max(state.tail.base.op, min(state.durable_op, job.base.op))
    state.durable[state.slot] = OpNumber(state.tail.first_not_durable(kept_op) - 1)
    state.take_head()
    state.unwritten_op = state.head_op + 1
    job.is_installed = True
    if job.view != state.view:
        state.job = None
    save(state, ready)


def on_promised(state: ReplicaState, now_ns: int, ready: Ready) -> bool:
    """The superblock holds the promises; return whether the view begins on this replica."""
    job = state.job
    if (
        state.status is not ReplicaStatus.VIEW_CHANGE
        or job is None
        or not may_vouch(state)
        or state.log_view != state.view
    ):
        return False
    state.job = None
    state.status = ReplicaStatus.NORMAL
    state.changes.clear()
    ready.has_new_role = True
    commit_op = min(job.commit.op, state.head_op)
    if commit_op > state.commit_op:
        set_commit(state, commit_op)
    if state.is_primary:
        _lead(state, now_ns, ready)
    else:
        state.heard_ns[state.primary] = now_ns
        acknowledge(state, ready)
    pump(state, ready)
    return True


def _lead(state: ReplicaState, now_ns: int, ready: Ready) -> None:
    state.durable = {state.slot: state.durable_op}  # V-8: acks of an earlier view are void.
    state.heard_ns.clear()
    state.view_since_ns = now_ns
    state.barrier_op = state.head_op
    start_others(state, state.others, ready)


# ---------------------------------------------------------------- StartView


def start_others(state: ReplicaState, slots: Iterable[int], ready: Ready) -> None:
    """The primary tells members the log of its view, as far back as it may be undecided there."""
    assert state.is_normal
    assert state.is_primary
    assert may_vouch(state)
    window_op = state.head_op - state.limits.window_batches
    base_op = max(state.tail.base.op, min(state.commit_op, window_op))
    message = StartView(
        epoch=state.epoch,
        view=state.view,
        start=state.vouch,
        commit=state.commit,
        base=state.tail.id_at(base_op),
        links=tuple(entry.held() for entry in state.tail.after(base_op)),
    )
    ready.messages += [(slot, message) for slot in slots]


def on_get_view(state: ReplicaState, slot: int, message: GetView, ready: Ready) -> None:
    """A member has heard of a view and asks for its log."""
    if state.is_normal and state.is_primary and message.view <= state.view:
        start_others(state, [slot], ready)


def ask_view(state: ReplicaState, slot: int, view: int, ready: Ready) -> None:
    """Ask a primary for the log of its view. The one message that may show a later view (G-1)."""
    question = GetView(epoch=state.epoch, view=view)
    ready.messages.append((slot, question))


def on_start_view(
    state: ReplicaState, slot: int, message: StartView, now_ns: int, ready: Ready
) -> None:
    """The log of the current view, from its primary (V-10)."""
    if message.view != state.view or state.status is not ReplicaStatus.VIEW_CHANGE:
        return
    if state.job is not None:
        return  # A second one while the first is being installed.
    ids = [message.base, *(BatchId(link.op, link.hash) for link in message.links)]
    if ids[-1].op < state.commit_op:
        raise Diverged(state.commit_op, "a new view drops a batch that is decided here")
    if ids[0].op > state.commit_op and not state.tail.holds(ids[0]):
        undecided = [link for link in ids if link.op > message.commit.op]
        staging.begin(state, undecided, message.commit, message.start, now_ns)
        return
    for link in ids:
        mine = state.tail.hash_at(link.op)
        if link.op <= state.commit_op and mine is not None and mine != link.hash:
            raise Diverged(link.op, "a new view holds another batch than is decided here")
    held = [state.tail.id_at(op) for op in range(state.commit_op + 1, ids[0].op)]
    links = held + [link for link in ids if link.op > state.commit_op]
    begin(state, links, message.commit, message.start, now_ns, ready)
