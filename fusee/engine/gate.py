"""The one way out of the engine.

Acks, results, refusals, query answers and step inputs leave through `Gate.when`, which
takes the ticket they depend on. An output that slips past it can tell the world about
state that a crash takes back; so there is no second way (rule G-5).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from fusee.base.ids import Ticket

Action = Callable[[Any], object]


class Gate:
    """Actions waiting for their ticket to commit, released in the order they came."""

    __slots__ = ("_waiting", "committed", "shut")

    def __init__(self) -> None:
        self.committed = Ticket(0)
        self.shut = False
        self._waiting: deque[tuple[Ticket, Action, Any]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def when(self, ticket: Ticket, action: Action, argument: Any) -> None:
        """Call `action(argument)` once everything up to `ticket` is committed.

        An action that depends on an older ticket than one already waiting is released with
        that one: at most one flush later than it could be, never earlier.
        """
        if ticket > self.committed or self._waiting:
            if not self.shut:
                self._waiting.append((ticket, action, argument))
        elif not self.shut:
            action(argument)

    def open(self, committed: Ticket) -> None:
        """Everything up to `committed` survives: release what waited for it."""
        assert committed >= self.committed, "commits never go back"
        self.committed = committed
        waiting = self._waiting
        while waiting and waiting[0][0] <= committed:
            _, action, argument = waiting.popleft()
            action(argument)

    def shut_for_good(self) -> None:
        """The log has stopped: nothing that still waits may ever leave."""
        self.shut = True
        self._waiting.clear()
