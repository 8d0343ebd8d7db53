"""The real clock: the only place where production code reads time.

`monotonic_ns` is CLOCK_MONOTONIC: it stands still while a laptop sleeps, which is what
every deadline here wants (a suspended process has no right to act, and no duty to).
"""

from __future__ import annotations

from time import monotonic_ns, time_ns


class SystemClock:
    """`fusee.base.clock.Clock` by the operating system."""

    __slots__ = ()

    def wall_us(self) -> int:
        """Microseconds since 1970 by the wall clock, which may step back."""
        return time_ns() // 1000

    # The C function itself: one Python frame less on every turn.
    monotonic_ns = staticmethod(monotonic_ns)
