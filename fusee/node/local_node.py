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
    STOP_STEPS_BYTES,
    WINDOW_BATCHES_MAX,
    WINDOW_BYTES_MAX,
)
from fusee.engine.commitlog import FOREVER_NS, Pressure, Stopped
from fusee.vr.normal import on_groups, on_written
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
        self.busy = False
        """Whether a write is in flight; the next one takes everything appended since."""
        self.pressure = Pressure.NONE
        self.is_full = False
        self.recent_us: int = state.head_ts_us
        self.batches_written = 0
        self.tickets = Tickets()
        self.append = self.tickets.append
        """Append one group; see `CommitLog.append`. The tickets' own method: one call a turn."""
        self._bytes_arrived = 0
        self._clock = clock
        self._slowed_us: int = 0
        self._slowed_from_us: int = 0
        self._slowed_from_ns: int = 0
        self._durable_op = self._writing_op = state.durable_op
        self._on_commit: Callable[[Ticket], None] = _nobody_listens
        self._on_stop: Callable[[Stopped], None] = _nobody_listens
        self._on_room: Callable[[], None] = _nothing
        self._witnessed_op = state.commit_op

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
        return self.tickets.appended

    @property
    def committed(self) -> Ticket:
        """Everything at or below this ticket survives."""
        return self.tickets.committed

    def append_together(self, groups: Sequence[tuple[ShardId, bytes]]) -> Ticket:
        """Append groups of several shards under one ticket."""
        return self.tickets.append_together(groups)

    def weigh(self, arrived_bytes: int = 0) -> None:
        """Judge anew how much work is taken; see `CommitLog.weigh`."""
        self._bytes_arrived += arrived_bytes
        uncommitted = self.tickets.bytes_uncommitted
        weight = uncommitted + self._bytes_arrived
        self.is_full = uncommitted > STOP_STEPS_BYTES
        if weight <= WINDOW_BYTES_MAX:
            self.pressure = Pressure.NONE
        elif weight <= STOP_STEPS_BYTES:
            self.pressure = Pressure.NO_NEW_WORK
        else:
            self.pressure = Pressure.STOP_STEPS

    def now_us(self) -> int:
        """Group time: the wall clock, or the slowed time where that is behind what was recorded."""
        now_us = self._clock.wall_us()
        if now_us > self.recent_us:
            self.recent_us = now_us
            return now_us
        return self._slowed_time_us()

    def _slowed_time_us(self) -> int:
        """Go on from what was recorded, slower than the wall clock, which so catches up.

        Held flat instead, one clock that ran an hour ahead and was corrected would stop every
        sleep, timeout and retry for an hour.
        """
        now_ns = self._clock.monotonic_ns()
        if self.recent_us != self._slowed_us:
            self._slowed_from_us, self._slowed_from_ns = self.recent_us, now_ns
        passed_us = (now_ns - self._slowed_from_ns) * 15 // 16_000
        self._slowed_us = self.recent_us = self._slowed_from_us + passed_us
        return self.recent_us

    def read(self, from_op: OpNumber, bytes_max: int) -> list[Batch]:
        """Return committed batches, pulled by readers at their own pace."""
        batches = self.storage.read(from_op, bytes_max)
        return [b for b in batches if b.op <= self.state.commit_op]

    # ------------------------------------------------------------ the owner's duties

    @property
    def can_flush(self) -> bool:
        """Whether `flush` would write now."""
        return bool(self.tickets.waiting) and not self.busy

    @property
    def uncommitted(self) -> bool:
        """Whether something appended is not committed yet."""
        return self.tickets.committed < self.tickets.appended

    def flush(self) -> bool:
        """Write what waits as one batch, if nothing is in flight; return whether it did."""
        tickets = self.tickets
        if tickets.bytes_waiting > WINDOW_BYTES_MAX:
            self.weigh()
        if self.busy or not tickets.waiting or len(tickets.in_batches) >= WINDOW_BATCHES_MAX:
            return False
        op = OpNumber(self.state.head_op + 1)
        batch = on_groups(self.state, op, tickets.take(op), self.recent_us)
        self.batches_written += 1
        self.busy = True
        self._writing_op = op
        self.storage.submit(batch, self._durable_op, self._written)
        return True

    def _written(self, error: BaseException | None) -> None:
        if error is not None:
            self.stop(error)
            return
        self.busy = False
        op = self._durable_op = self._writing_op
        # What waits for the pressure to fall is woken too, though nothing waits to be written.
        was_pressed = self.pressure is not Pressure.NONE
        if on_written(self.state, op):
            ticket = self.tickets.commit(self.state.commit_op)
            if was_pressed:
                self.weigh()
            self._on_commit(ticket)
        if self.tickets.waiting or was_pressed:
            self._on_room()

    def seal_if_idle(self) -> bool:
        """Write a seal when the last batch has no witness yet (S-7); return whether it did."""
        durable_op = self._durable_op
        if self.busy or self._witnessed_op >= durable_op:
            return False
        self.busy = True
        self._witnessed_op = durable_op
        self.storage.submit_seal(durable_op, self._sealed)
        return True

    def _sealed(self, error: BaseException | None) -> None:
        if error is not None:
            self.stop(error)
            return
        self.busy = False
        if self.tickets.waiting:
            self._on_room()

    def stop(self, reason: BaseException | None) -> None:
        """Nothing will ever commit here again."""
        if self.stopped is None:
            self.stopped = Stopped(reason)
            self.busy = True  # For ever: nothing is written after a failure.
            self._on_stop(self.stopped)


def _nothing() -> None:
    """Nobody waits for room."""


def _nobody_listens(_: object) -> None:
    raise AssertionError("a node speaks before its engine listens")
