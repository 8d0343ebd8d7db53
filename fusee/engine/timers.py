"""Due times of all runs: sleeps, wait timeouts, retry delays.

Overdue timers fire in (due, shard, run, position) order, also after a long stop, so that
two processes that recover the same log fire them alike.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import NamedTuple

REBUILD_SIZE_MIN = 64


class TimerKey(NamedTuple):
    """What a timer belongs to, in the order overdue timers fire."""

    due_us: int
    shard: int
    workflow_id: str
    ordinal: int
    position: int


class Timers:
    """A heap with deletion: a cancelled timer is gone from `live` at once, from the heap soon."""

    __slots__ = ("_heap", "live")

    def __init__(self) -> None:
        self._heap: list[TimerKey] = []
        self.live: set[TimerKey] = set()
        """Timers that are armed."""

    def __len__(self) -> int:
        return len(self.live)

    def add(self, key: TimerKey) -> None:
        """Arm a timer. Arming it twice is arming it once."""
        if key not in self.live:
            self.live.add(key)
            heappush(self._heap, key)

    def cancel(self, key: TimerKey) -> None:
        """Disarm a timer; one that is not armed is left alone."""
        self.live.discard(key)
        if len(self._heap) > REBUILD_SIZE_MIN and len(self._heap) > 2 * len(self.live):
            self._heap = [k for k in self._heap if k in self.live]
            heapify(self._heap)

    def next_due_us(self) -> int | None:
        """Return when the next timer is due, None when none is armed."""
        while self._heap and self._heap[0] not in self.live:
            heappop(self._heap)
        return self._heap[0].due_us if self._heap else None

    def pop_due(self, now_us: int) -> TimerKey | None:
        """Take the next timer that is due, None when there is none."""
        due_us = self.next_due_us()
        if due_us is None or due_us > now_us:
            return None
        key = heappop(self._heap)
        self.live.discard(key)
        return key
