"""Virtual time: events in order of their time, and nothing else ever happens.

Time is an integer of microseconds and jumps to the next event, so a month costs as much as a
millisecond. Events of the same time run in the order in which they were asked for; a seed
may shuffle them instead, since no real machine promises that order.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

START_US = 1_750_000_000_000_000
"""Where worlds begin: 15 June 2025, in microseconds since 1970."""


class Event:
    """Something that will happen, unless it is cancelled."""

    __slots__ = ("due_us", "happen")

    def __init__(self, due_us: int, happen: Callable[[], None]) -> None:
        self.due_us = due_us
        self.happen: Callable[[], None] | None = happen

    def cancel(self) -> None:
        """Make it not happen. It stays in the heap and is passed over."""
        self.happen = None


class Scheduler:
    """The one clock of a world, and what is due."""

    def __init__(self, tie_break: Random | None = None) -> None:
        self.now_us = START_US
        self.events_run = 0
        self._heap: list[tuple[int, float, int, Event]] = []
        self._asked = 0
        self._tie_break = tie_break
        self._interrupt: BaseException | None = None

    def at(self, due_us: int, happen: Callable[[], None]) -> Event:
        """Let something happen at a time; now, if that has passed."""
        event = Event(max(due_us, self.now_us), happen)
        self._asked += 1
        key = 0.0 if self._tie_break is None else self._tie_break.random()
        heappush(self._heap, (event.due_us, key, self._asked, event))
        return event

    def after(self, delay_us: int, happen: Callable[[], None]) -> Event:
        """Let something happen after a delay."""
        return self.at(self.now_us + delay_us, happen)

    def interrupt(self, error: BaseException) -> None:
        """Let nothing happen any more: whoever asks for the next event gets this error.

        For what comes from outside of the world, such as the time limit of a test. It is
        raised wherever the code happens to be, and code of users may take it for its own.
        """
        self._interrupt = error

    def spend(self, time_us: int) -> None:
        """Let time pass within an event: whoever runs now blocks the world for so long."""
        self.now_us += time_us

    def next_due_us(self) -> int | None:
        """Return when the next event is due, None when nothing will ever happen again."""
        heap = self._heap
        while heap and heap[0][3].happen is None:
            heappop(heap)
        return heap[0][0] if heap else None

    def run_next(self) -> bool:
        """Go to the next event and run it; False when there is none."""
        if self._interrupt is not None:
            raise self._interrupt
        due_us = self.next_due_us()
        if due_us is None:
            return False
        event = heappop(self._heap)[3]
        happen, event.happen = event.happen, None
        assert happen is not None, "cancelled events were passed over"
        self.now_us = max(self.now_us, due_us)
        self.events_run += 1
        happen()
        return True
