"""A simulated process's way to the disk: the real one, but for its thread.

The rule when a write blocks the loop and when a thread does it, and the inline write itself,
are the product's own. What the thread would do becomes a write in flight, which lands, fails
or is cut off at an instant of virtual time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from fusee.io.submitter import Submitter
from fusee.log.device import Device

if TYPE_CHECKING:
    from collections.abc import Callable

    from fusee.base.clock import Clock
    from fusee.io.submitter import OnDone
    from fusee.io.wakeup import Wake
    from fusee.testing.scheduler import Event, Scheduler


class SplitDevice(Device, Protocol):
    """A device whose writes can be begun and completed apart."""

    def begin(self, file: str, offset: int, data: bytes | memoryview) -> Any:
        """Put a write in flight."""
        ...

    def complete(self, in_flight: Any) -> None:
        """Let it land, or raise what became of it."""
        ...


class SimSubmitter(Submitter):
    """One owner's way to a simulated disk."""

    def __init__(
        self,
        device: SplitDevice,
        wake: Wake,
        clock: Clock,
        scheduler: Scheduler,
        write_us: Callable[[], int],
        hit: Callable[[str], None],
    ) -> None:
        super().__init__(device, wake, clock)
        self._split = device
        self._scheduler = scheduler
        self._write_us = write_us
        self._hit = hit
        self._handed_over = 0
        self._event: Event | None = None
        self._end: Callable[[], None] | None = None

    def submit(self, file: str, offset: int, data: bytes | memoryview, on_done: OnDone) -> None:
        """Start a durable write, and note which way it went."""
        before = self._handed_over
        super().submit(file, offset, data, on_done)
        self._hit("mode:inline" if self._handed_over == before else "mode:thread")

    def _hand_over(self, write: Any) -> None:
        self._handed_over += 1
        file, offset, data, on_done = write
        self.busy = True
        start_ns = self._clock_ns()
        in_flight = self._split.begin(file, offset, data)

        def end() -> None:
            self._end = None
            failure: BaseException | None = None
            try:
                self._split.complete(in_flight)
            except BaseException as error:
                failure = error
            self._ended = (on_done, failure, self._clock_ns() - start_ns)
            self._wakeup.ring()

        self._end = end
        self._event = self._scheduler.after(self._write_us(), end)

    def yield_gil(self) -> None:
        """There is no other thread."""

    def close(self, timeout_s: float = 5.0) -> bool:
        """Complete what is in flight, as the thread would be waited for."""
        self._is_closed = True
        if self._end is not None:
            assert self._event is not None
            self._event.cancel()
            self._end()
        self._receive()
        return True

    def forget(self) -> None:
        """The process is dead: nobody completes its write or hears of it."""
        if self._event is not None:
            self._event.cancel()
        self._end = None
