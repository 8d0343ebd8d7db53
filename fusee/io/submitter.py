"""Hands writes to the device, inline or through one thread, and reports on the owner's thread.

    submit ─┬─ inline ── device.write ── on_done            all in one call
            └─ thread ── device.write ── publish, ring ── (loop) receive ── on_done

One write in flight: the next one takes everything appended since, so a queue here would only
hide records from the batch they could share. Nothing is retried; a failed device refuses by
itself.

All methods belong to the owner's thread.

The GIL. The writer needs it for a moment before its system call and again after, and the
owner, busy with turns, does not give it up by itself for 5 ms. To release and take it back at
once (sched_yield, or a selector polled with no timeout, as every loop does) is worse than
nothing: a waiter is too slow to take it, and each attempt restarts its 5 ms. Measured: writes
that starve for seconds. So the owner waits in earnest, on a lock that the writer opens, but
only when the writer can be there:

    owner    hand over, wait ── turn ── turn ── turn, wait a little ── turn ── ...
    writer          take it, signal ──── write ────────── signal, ring

`yield_gil` at the end of each turn is that second wait; it costs one look at the clock until
the write is due (bench/submit_switch.py has the figures).
"""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING

from fusee.io.submit_mode import SubmitMode
from fusee.io.wakeup import Wake, Wakeup

if TYPE_CHECKING:
    from fusee.base.clock import Clock
    from fusee.log.device import Device

OnDone = Callable[[BaseException | None], None]
"""Told how a write ended: None is durable."""

_Write = tuple[str, int, "bytes | memoryview", OnDone]
_BEGIN_S_MAX = 0.001
"""How long the owner waits for the writer to begin; it needs some 30 us unless the CPU is taken."""
_YIELD_S = 0.00005
"""How long one yield waits; long enough that the writer surely runs if it can."""
_DUE_NUMERATOR, _DUE_DENOMINATOR = 3, 4
"""From this part of the calibrated flush on a write may be over, ..."""
_YIELDS_A_FLUSH = 16
"""... and so often a flush the owner finds out."""


class Submitter:
    """One owner's way to the disk."""

    def __init__(self, device: Device, wake: Wake, clock: Clock) -> None:
        self.busy = False
        """Whether a write is with the thread. Read only."""
        self.mode = SubmitMode(device.flush_ns)
        self._device = device
        self._wakeup = Wakeup(wake, self._receive)
        self._writes: SimpleQueue[_Write | None] = SimpleQueue()
        self._clock_ns = clock.monotonic_ns
        self._due_ns = device.flush_ns * _DUE_NUMERATOR // _DUE_DENOMINATOR
        self._yield_every_ns = device.flush_ns // _YIELDS_A_FLUSH
        self._yield_at_ns = 0
        # Closed while the owner waits; opened by the writer only, closed by the owner only.
        self._signal = Lock()
        self._signal.acquire()
        self._ended: tuple[OnDone, BaseException | None, int] | None = None
        self._thread: Thread | None = None
        self._is_closed = False

    def submit(self, file: str, offset: int, data: bytes | memoryview, on_done: OnDone) -> None:
        """Start a durable write; `data` stays untouched until `on_done`.

        Inline, `on_done` has run when this returns.
        """
        assert not self.busy, "one write in flight"
        assert not self._is_closed, "submit after close"
        start_ns = self._clock_ns()
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
        now_ns = self._clock_ns()
        self.mode.on_inline_write(now_ns - start_ns, now_ns)
        on_done(None)

    def yield_gil(self) -> None:
        """Let the writer thread have the GIL if it may need it. Call after each turn."""
        # A write that has ended waits for the loop, not for the GIL.
        if self.busy and self._ended is None and self._clock_ns() >= self._yield_at_ns:
            self._signal.acquire(timeout=_YIELD_S)
            self._yield_at_ns = self._clock_ns() + self._yield_every_ns

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
        # What the last write signalled and nobody waited for.
        self._signal.acquire(blocking=False)
        self._writes.put(write)
        self._signal.acquire(timeout=_BEGIN_S_MAX)
        self._yield_at_ns = self._clock_ns() + self._due_ns

    def _receive(self) -> None:
        ended, self._ended = self._ended, None
        if ended is not None:
            self.busy = False
            on_done, error, took_ns = ended
            self.mode.on_thread_write(took_ns)
            on_done(error)

    # ------------------------------------------------------------ the writer thread

    def _work(self) -> None:
        while (write := self._writes.get()) is not None:
            file, offset, data, on_done = write
            failure: BaseException | None = None
            self._open_signal()
            start_ns = self._clock_ns()
            try:
                self._device.write(file, offset, data)
            except BaseException as error:
                failure = error
            self._ended = (on_done, failure, self._clock_ns() - start_ns)
            # Before the bell, which gives the GIL away when it writes to the loop's socket.
            self._open_signal()
            self._wakeup.ring()
            # Not to keep a frame or an error alive until the next write.
            del write, data, on_done, failure

    def _open_signal(self) -> None:
        if self._signal.locked():
            self._signal.release()
