"""Where time comes from. Nothing below the `io` floor reads a clock; it is handed one."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """A source of time; the real one is `fusee.io.clock`, simulators bring their own."""

    def wall_us(self) -> int:
        """Microseconds since 1970 by the wall clock, which may step back."""
        ...

    def monotonic_ns(self) -> int:
        """Nanoseconds since some fixed instant; never steps back."""
        ...
