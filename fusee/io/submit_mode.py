"""When a write blocks the loop, and when a thread does it instead: the rule, without threads.

Measured beside CPU-bound code (bench/submit_switch.py): a short write is cheapest inline,
since handing it over costs two switches of the GIL. A long one would stop every other run.
"""

from __future__ import annotations

from typing import Literal

FLUSH_NS_INLINE_MAX = 300_000
"""A disk calibrated slower than this always gets the thread."""
FAST_WRITES_PROVE = 64
"""So many writes of the thread in a row below that show that the calibration was taken at a
bad moment: a slow disk is never that steadily fast."""
WRITE_NS_INLINE_MAX = 2_000_000
"""One inline write longer than this sends the next ones to the thread."""
THREAD_NS = 1_000_000_000
"""For so long at most; then one inline write finds out whether the disk has recovered."""
WRITE_NS_RECOVERED_MAX = 500_000
"""A write of the thread this short, GIL waits included, shows at once that it has.

A lone outlier (a neighbour, a full queue in the device) is common on shared machines; a
second of threaded writes after each would cost more than the outliers: 230 us a step
against 97 us, measured with one write in a thousand above 2 ms.
"""


class SubmitMode:
    """Decides for each write, from the calibrated flush and the last inline write."""

    __slots__ = ("_fast_in_a_row", "_is_always_thread", "_thread_until_ns", "forced")

    def __init__(self, flush_ns: int) -> None:
        self.forced: Literal["inline", "thread"] | None = None
        """Set by who knows better: in a group a backup has nothing to do during its flush,
        and a primary reads acks meanwhile."""
        self._is_always_thread = flush_ns > FLUSH_NS_INLINE_MAX
        self._fast_in_a_row = 0
        # None rather than 0: a monotonic clock may start anywhere.
        self._thread_until_ns: int | None = None

    def uses_thread(self, now_ns: int) -> bool:
        """Return whether the write that starts now belongs into the thread."""
        if self.forced is not None:
            return self.forced == "thread"
        if self._is_always_thread:
            return True
        if self._thread_until_ns is None:
            return False
        if now_ns < self._thread_until_ns:
            return True
        self._thread_until_ns = None
        return False

    def on_thread_write(self, took_ns: int) -> None:
        """Learn how long a write of the thread took."""
        if took_ns <= WRITE_NS_RECOVERED_MAX:
            self._thread_until_ns = None
        if took_ns > FLUSH_NS_INLINE_MAX:
            self._fast_in_a_row = 0
            return
        self._fast_in_a_row += 1
        if self._fast_in_a_row >= FAST_WRITES_PROVE:
            self._is_always_thread = False

    def on_inline_write(self, took_ns: int, now_ns: int) -> None:
        """Learn how long an inline write took that ended now."""
        if took_ns > WRITE_NS_INLINE_MAX:
            self._thread_until_ns = now_ns + THREAD_NS
