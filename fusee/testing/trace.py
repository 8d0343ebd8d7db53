"""What happened in a seed: a rolling hash of everything, and the last events as text.

The hash is how two runs of a seed are compared, so every event goes into it. Text is made
only of the last events, and only when somebody asks.
"""

from __future__ import annotations

from collections import deque
from typing import Final
from zlib import crc32

EVENTS_KEPT: Final = 400


class Trace:
    """Events of one seed, in order. Virtual time only, and numbers and short strings only."""

    __slots__ = ("_kept", "count", "hash")

    def __init__(self, events_kept: int = EVENTS_KEPT) -> None:
        self._kept: deque[tuple[int, str, tuple[int | str, ...]]] = deque(maxlen=events_kept)
        self.count = 0
        self.hash = 0

    def add(self, t_us: int, code: str, *values: int | str) -> None:
        """Note an event at a virtual time."""
        event = (t_us, code, values)
        self._kept.append(event)
        self.count += 1
        self.hash = crc32(repr(event).encode(), self.hash)

    def lines(self) -> tuple[str, ...]:
        """Return the last events as text, the oldest first."""
        return tuple(
            f"{t_us / 1e6:12.6f}  {code:<20} {' '.join(map(str, values))}".rstrip()
            for t_us, code, values in self._kept
        )
