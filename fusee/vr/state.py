"""The state of one replica and what must always be true of it.

Handlers of the sub-protocols change this one Struct and nothing else; `check` states the
invariants and runs after every input.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec

from fusee.base.ids import BatchHash, Epoch, OpNumber, View
from fusee.base.limits import WINDOW_BATCHES_MAX
from fusee.log.batch import Batch
from fusee.log.superblock import BatchId, Unknown
from fusee.vr.messages import NOTHING, DoViewChange
from fusee.vr.quorum import quorum_size
from fusee.vr.tail import LogTail

MS = 1_000_000


class ReplicaStatus(Enum):
    """What a replica may do; see docs/internals/replication.md for the statuses of a group."""

    RECOVERING = "recovering"
    """The log is read, but the view it may lead is not on disk yet."""
    NORMAL = "normal"
    VIEW_CHANGE = "view_change"


class Timing(msgspec.Struct, frozen=True):
    """How long a replica waits for others; DESIGN of the defaults in replication.md."""

    heartbeat_ns: int = 10 * MS
    silence_ns: int = 150 * MS
    """A backup that hears nothing for so long would leave the view."""
    quorum_ns: int = 100 * MS
    """A primary that hears no quorum for so long stops acting; shorter than the silence (SD-1)."""
    retry_ns: int = 20 * MS
    """What was asked for is asked for again, of another member."""


class Limits(msgspec.Struct, frozen=True):
    """Bounds of the undecided window."""

    window_batches: int = WINDOW_BATCHES_MAX
    """The primary is at most so far ahead of what is decided (N-7)."""
    lag_batches: int = 256
    """The primary is at most so far ahead of its own disk (N-8)."""
    kept_batches: int = 1024
    """So many decided batches stay in memory for members that are late."""


class Staged(msgspec.Struct, frozen=True):
    """Decided batches that lie beside the log: those behind `base`, up to `head`."""

    base: BatchId
    head: BatchId


class InstallJob(msgspec.Struct):
    """The log that a view begins with, on its way to this replica."""

    view: int
    start: BatchId
    commit: BatchId
    base: BatchId
    """Up to here the own log is that log, and durable."""
    links: list[BatchId]
    """The ops above `base`; of a log that is far ahead, those above `commit`."""
    bodies: dict[BatchId, Batch]
    """Those of `links` that the own log does not hold, as far as they have come."""
    is_far: bool = False
    """What is decided above `base` is staged first."""
    is_submitted: bool = False
    is_installed: bool = False
    """The own log is this one; what is missing is only that the superblock says so."""

    @property
    def is_under_way(self) -> bool:
        """Whether a bracket may become durable at any time."""
        return self.is_submitted and not self.is_installed


class ReplicaState(msgspec.Struct):
    """One replica. `durable` maps a slot to the op its member holds durably in this view."""

    group_id: bytes
    slot: int
    member_count: int
    epoch: Epoch
    view: View
    log_view: View
    status: ReplicaStatus
    head_op: OpNumber
    head_hash: BatchHash
    head_ts_us: int
    commit_op: OpNumber
    durable: dict[int, OpNumber]
    quorum: int = 0

    # A group of more than one. Promises: what is on disk, and what is on its way there.
    saved_view: int = 0
    saved_log_view: int = 0
    is_saving: bool = False
    vouch: BatchId = NOTHING
    """Where the log of `log_view` began."""
    unknown: Unknown | None = None
    unknown_op_max: int = 0

    # The log.
    tail: LogTail = msgspec.field(default_factory=LogTail)
    log_gen: int = 0
    """Changes whenever the log is replaced, so that late completions are recognised (S-4)."""
    writing: BatchId | None = None
    unwritten_op: int = 0
    """First op that no write was submitted for; entries above it are in memory only."""
    early: dict[int, Batch] = {}
    """Batches that came before the one they follow."""
    rewriting: set[int] = set()

    # The view change. All of it belongs to exactly one view (VOL-1).
    leaving: set[int] = set()
    """Members that would leave the current view."""
    changes: dict[int, DoViewChange] = {}
    job: InstallJob | None = None
    staged: Staged | None = None
    """What is staged stays so over views: it is decided (I-6)."""
    is_staging: bool = False
    view_since_ns: int = 0
    views_without_commit: int = 0
    reported_view: int = 0
    """View for which this log was reported at least once."""

    # Who was heard when.
    heard_ns: dict[int, int] = {}
    quorum_until_ns: int = 0
    """The primary may act until then: a quorum had heard it (SD-1)."""
    echo_ns: int = 0
    """`sent_ns` of the newest heartbeat that this backup heard."""
    is_abdicated: bool = False
    beat_ns: int = 0
    """When this replica last spoke on its own account."""
    may_ask_ns: int = 0
    """Nothing is asked of others before that."""
    asked_count: int = 0
    reads: list[Any] = []
    """`fusee.vr.reads.Read`s that wait for a quorum, the oldest first."""
    barrier_op: int = 0
    """Reads and refusals wait until so much is decided (8.6)."""

    timing: Timing = Timing()
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        """Derive the quorum once: it is read on every commit."""
        self.quorum = quorum_size(self.member_count)

    @property
    def primary(self) -> int:
        """Slot of the member that leads the current view."""
        return self.view % self.member_count

    @property
    def is_primary(self) -> bool:
        """Whether this replica is the one that leads the current view, once it is normal."""
        return self.slot == self.view % self.member_count

    @property
    def is_normal(self) -> bool:
        """Whether the log is durably that of the view, and the view goes on."""
        return self.status is ReplicaStatus.NORMAL

    @property
    def others(self) -> list[int]:
        """Slots of the other members."""
        return [slot for slot in range(self.member_count) if slot != self.slot]

    @property
    def durable_op(self) -> OpNumber:
        """The op up to which this replica's own disk holds everything."""
        return self.durable[self.slot]

    @property
    def commit(self) -> BatchId:
        """Identity of the last batch known to be decided."""
        return self.tail.id_at(self.commit_op)

    def take_head(self) -> None:
        """Let the head be that of the tail, after entries were added or replaced."""
        head = self.tail.head
        self.head_op, self.head_hash = OpNumber(head.op), BatchHash(head.hash)
        last = self.tail.get(head.op)
        if last is not None and last.batch is not None:
            self.head_ts_us = max(self.head_ts_us, last.batch.ts_us)

    def check(self) -> None:
        """Assert what is believed about this state; a wrong belief must stop the replica."""
        assert self.log_view <= self.view, "a log cannot be of a view not yet entered"
        assert self.durable[self.slot] <= self.head_op, "durable beyond what was appended"
        assert self.commit_op <= self.head_op, "committed beyond what was appended"
        if self.status is ReplicaStatus.NORMAL:
            assert self.log_view == self.view, "normal operation on a log of another view (G-4)"
        if self.member_count > 1:
            self._check_group()

    def _check_group(self) -> None:
        assert self.saved_view <= self.view, "the disk has promised a view not yet entered"
        assert self.tail.head_op == self.head_op, "the tail is not the log's"
        if self.status is ReplicaStatus.NORMAL:
            assert self.saved_log_view == self.view, "normal before the log view is durable (G-4)"
            assert self.job is None, "normal while a log is being installed"
