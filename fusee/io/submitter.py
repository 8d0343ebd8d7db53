"""Hands writes to the device, inline or through one thread, and reports on the owner's thread.

    submit ─┬─ inline ── device.write ── on_done            all in one call
            └─ thread ── device.write ── publish, ring ── (loop) receive ── on_done

One write in flight: the next one takes everything appended since, so a queue here would only
hide records from the batch they could share. Nothing is retried; a failed device refuses by
itself.

All methods belong to the owner's thread. While `busy` the owner calls `yield_gil()` after
each turn: the writer needs the GIL for a moment at both ends of its system call, and would
otherwise wait a whole switch interval (5 ms) for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING

from fusee.io.submit_mode import SubmitMode
from fusee.io.wakeup import Wake, Wakeup

if TYPE_CHECKING:
    from fusee.base.clock import Clock
    from fusee.log.device import Device

OnDone = Callable[[BaseException | None], None]
"""Told how a write ended: None is durable."""

_Write = tuple[str, int, "bytes | memoryview", OnDone]
_sleep = time.sleep


class Submitter:
    """One owner's way to the disk."""

    def __init__(self, device: Device, wake: Wake, clock: Clock) -> None:
        self.busy = False
        """Whether a write is with the thread. Read only."""
        self.mode = SubmitMode(device.flush_ns)
        self._device = device
        self._clock = clock
        self._wakeup = Wakeup(wake, self._receive)
        self._writes: SimpleQueue[_Write | None] = SimpleQueue()
        self._ended: tuple[OnDone, BaseException | None] | None = None
        self._thread: Thread | None = None
        self._is_closed = False

    def submit(self, file: str, offset: int, data: bytes | memoryview, on_done: OnDone) -> None:
        """Start a durable write; `data` stays untouched until `on_done`.

        Inline, `on_done` has run when this returns.
        """
        assert not self.busy, "one write in flight"
        assert not self._is_closed, "submit after close"
        start_ns = self._clock.monotonic_ns()
        if self.mode.uses_thread(start_ns):
            self._hand_over((file, offset, data, on_done))
            return
        try:
            self._device.write(file, offset, data)
        except BaseException as error:
            on_done(error)
            if not isinstance(error, Exception):
                # Ctrl-C belongs to the application; the engine has been told that it stops.
                raise
            return
        now_ns = self._clock.monotonic_ns()
        self.mode.on_inline_write(now_ns - start_ns, now_ns)
        on_done(None)

    def yield_gil(self) -> None:
        """Let the writer thread have the GIL if it has work; free of cost otherwise."""
        if self.busy:
            _sleep(0)

    def close(self, timeout_s: float = 5.0) -> bool:
        """Wait for the write in flight and end the thread; True when nothing is left.

        False means that a write hangs in the system: the device must stay open then.
        """
        self._is_closed = True
        thread, self._thread = self._thread, None
        if thread is None:
            return not self.busy
        self._writes.put(None)
        thread.join(timeout_s)
        # The loop may never turn again, so the last report is made here.
        self._receive()
        return not thread.is_alive()

    def _hand_over(self, write: _Write) -> None:
        if self._thread is None:
            # Daemon: a disk that hangs must not keep the process from ending.
            self._thread = Thread(target=self._work, name="fusee-writer", daemon=True)
            self._thread.start()
        self.busy = True
        self._writes.put(write)

    def _receive(self) -> None:
        ended, self._ended = self._ended, None
        if ended is not None:
            self.busy = False
            on_done, error = ended
            on_done(error)

    # ------------------------------------------------------------ the writer thread

    def _work(self) -> None:
        while (write := self._writes.get()) is not None:
            file, offset, data, on_done = write
            failure: BaseException | None = None
            try:
                self._device.write(file, offset, data)
            except BaseException as error:
                failure = error
            self._ended = (on_done, failure)
            self._wakeup.ring()
            # Not to keep a frame or an error alive until the next write.
            del write, data, on_done, failure
