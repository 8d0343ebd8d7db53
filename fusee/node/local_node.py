"""The node of a group of one: binds a replica to its log, and gives the engine its tickets.

    append -> Tickets ─┐ flush (end of a loop iteration)
                       └─> on_groups -> Batch -> storage ─> on_written -> commit -> ticket

The owner is the application's own loop: every method is called there. A flush takes
everything appended since the last one; one write is in flight at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.base.ids import OpNumber, Reign, ShardId, Ticket
from fusee.base.limits import (
    GROUP_BYTES_MAX,
    STOP_STEPS_BYTES,
    WINDOW_BATCHES_MAX,
    WINDOW_BYTES_MAX,
)
from fusee.engine.commitlog import FOREVER_NS, Pressure, Stopped
from fusee.vr.normal import on_groups, on_written
from fusee.vr.ready import Ready
from fusee.vr.tickets import Tickets

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fusee.base.clock import Clock
    from fusee.log.batch import Batch
    from fusee.node.storage import Storage
    from fusee.vr.state import ReplicaState


class LocalNode:
    """Implements `engine.commitlog.CommitLog` over one replica."""

    may_act_until_ns = FOREVER_NS

    def __init__(self, state: ReplicaState, storage: Storage, clock: Clock) -> None:
        self.state = state
        self.storage = storage
        self.stopped: Stopped | None = None
        self.batches_written = 0
        self.groups_written = 0
        self._clock = clock
        self._tickets = Tickets()
        self._now_us = state.head_ts_us
        self._on_commit: Callable[[Ticket], None] = _nobody_listens
        self._on_stop: Callable[[Stopped], None] = _nobody_listens
        self._on_room: Callable[[], None] = _nothing
        self._witnessed_op = state.commit_op
        self._sealing = False

    def listen(
        self,
        on_commit: Callable[[Ticket], None],
        on_room: Callable[[], None],
        on_stop: Callable[[Stopped], None],
    ) -> None:
        """Say who hears of commits, of a write that may follow one in flight, and of the end."""
        self._on_commit = on_commit
        self._on_room = on_room
        self._on_stop = on_stop

    # ------------------------------------------------------------ CommitLog

    @property
    def reign(self) -> Reign:
        """The reign of the view this replica leads."""
        return Reign(self.state.view)

    @property
    def appended(self) -> Ticket:
        """The last ticket given out."""
        return self._tickets.appended

    @property
    def committed(self) -> Ticket:
        """Everything at or below this ticket survives."""
        return self._tickets.committed

    @property
    def pressure(self) -> Pressure:
        """How much work the log still takes, by what is not committed yet."""
        uncommitted = self._tickets.bytes_uncommitted
        if uncommitted <= WINDOW_BYTES_MAX:
            return Pressure.NONE
        return Pressure.NO_NEW_WORK if uncommitted <= STOP_STEPS_BYTES else Pressure.STOP_STEPS

    def append(self, shard: ShardId, group: bytes) -> Ticket:
        """Append one group."""
        assert len(group) <= GROUP_BYTES_MAX, f"a group of {len(group)} bytes passed its checks"
        return self._tickets.append(shard, group)

    def append_together(self, groups: Sequence[tuple[ShardId, bytes]]) -> Ticket:
        """Append groups of several shards under one ticket."""
        return self._tickets.append_together(groups)

    def now_us(self) -> int:
        """Group time: the wall clock, held flat where it is behind what was recorded."""
        now_us = self._clock.wall_us()
        if now_us > self._now_us:
            self._now_us = now_us
        return self._now_us

    def read(self, from_op: OpNumber, bytes_max: int) -> list[Batch]:
        """Return committed batches, pulled by readers at their own pace."""
        batches = self.storage.read(from_op, bytes_max)
        return [b for b in batches if b.op <= self.state.commit_op]

    # ------------------------------------------------------------ the owner's duties

    @property
    def wants_flush(self) -> bool:
        """Whether something waits for a batch."""
        return self._tickets.waiting > 0

    @property
    def uncommitted(self) -> bool:
        """Whether something appended is not committed yet."""
        return self._tickets.committed < self._tickets.appended

    def flush(self) -> bool:
        """Write what waits as one batch, if nothing is in flight; return whether it did."""
        tickets = self._tickets
        if (
            not tickets.waiting
            or self.storage.busy
            or self.stopped is not None
            or tickets.batches_undecided >= WINDOW_BATCHES_MAX
        ):
            return False
        state = self.state
        ready = Ready()
        self.groups_written += tickets.waiting
        sections = tickets.take(OpNumber(state.head_op + 1))
        batch = on_groups(state, sections, self.now_us(), ready)
        self.groups_written -= tickets.waiting
        self.batches_written += 1
        self.storage.submit(batch, state.durable_op, self._written)
        return True

    def _written(self, error: BaseException | None) -> None:
        if error is not None:
            self.stop(error)
            return
        ready = Ready()
        state = self.state
        on_written(state, state.durable_op + 1, ready)
        if ready.committed_op is not None:
            self._on_commit(self._tickets.commit(ready.committed_op))
        if self._tickets.waiting:
            self._on_room()

    def seal_if_idle(self) -> bool:
        """Write a seal when the last batch has no witness yet (S-7); return whether it did."""
        state = self.state
        if (
            self._sealing
            or self.storage.busy
            or self.stopped is not None
            or self._witnessed_op >= state.durable_op
        ):
            return False
        self._sealing = True
        self._witnessed_op = state.durable_op
        self.storage.submit_seal(state.durable_op, self._sealed)
        return True

    def _sealed(self, error: BaseException | None) -> None:
        self._sealing = False
        if error is not None:
            self.stop(error)
        elif self._tickets.waiting:
            self._on_room()

    def stop(self, reason: BaseException | None) -> None:
        """Nothing will ever commit here again."""
        if self.stopped is None:
            self.stopped = Stopped(reason)
            self._on_stop(self.stopped)


def _nothing() -> None:
    """Nobody waits for room."""


def _nobody_listens(_: object) -> None:
    raise AssertionError("a node speaks before its engine listens")
