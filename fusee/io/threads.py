"""Threads for synchronous steps, which may hang for ever without hanging the process.

`concurrent.futures` joins its threads when the interpreter exits, so that one step stuck in
a socket would keep a finished program alive. These are daemons, and `close` does not wait
for stuck ones: what such a step returns was never recorded, and it will run again.

A job is in one of three hands, and changes them on the owner's thread only:

    waiting ──(a thread takes it)── running ──(returns or raises)── done
       └── cancel() ── never runs

Everything but the function itself is called on the owner's thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from fusee.base.limits import SYNC_STEPS_WAITING_MAX
from fusee.io.wakeup import Wake, Wakeup

if TYPE_CHECKING:
    from contextvars import Context

OnResult = Callable[[Any, BaseException | None], None]
"""Told what a function returned, or with a second argument what it raised."""


class Job:
    """One function in the queue or in a thread."""

    __slots__ = (
        "_claim",
        "context",
        "error",
        "function",
        "is_cancelled",
        "on_done",
        "on_start",
        "value",
    )

    def __init__(
        self,
        function: Callable[[], Any],
        context: Context,
        on_done: OnResult,
        on_start: Callable[[], None] | None,
    ) -> None:
        self.function = function
        self.context = context
        self.on_done = on_done
        self.on_start = on_start
        self.value: Any = None
        self.error: BaseException | None = None
        self.is_cancelled = False
        self._claim = Lock()

    def claim(self) -> bool:
        """Return True for the first caller only: the thread that runs it, or who cancels it."""
        return self._claim.acquire(blocking=False)

    def cancel(self) -> bool:
        """Take back a job that no thread has begun; False when it runs or is over.

        Neither its function nor `on_done` is called then.
        """
        self.is_cancelled = self.is_cancelled or self.claim()
        return self.is_cancelled


class StepThreads:
    """A bounded pool of daemon threads, first come first served, started when needed."""

    def __init__(self, max_threads: int, wake: Wake) -> None:
        assert max_threads >= 1, max_threads
        self._max_threads = max_threads
        self._wakeup = Wakeup(wake, self._receive)
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        # What threads have to tell, in the order it happened: (job, whether it is over).
        self._news: deque[tuple[Job, bool]] = deque()
        self._threads: list[Thread] = []
        self._unfinished = 0
        self._is_closed = False

    @property
    def unfinished(self) -> int:
        """How many jobs wait or run."""
        return self._unfinished

    @property
    def has_room(self) -> bool:
        """Whether another job may be submitted."""
        return self._unfinished < self._max_threads + SYNC_STEPS_WAITING_MAX

    def submit(
        self,
        function: Callable[[], Any],
        context: Context,
        on_done: OnResult,
        on_start: Callable[[], None] | None = None,
    ) -> Job:
        """Run a function in a thread, inside a context; report on the owner's thread.

        `on_start` is told when a thread has taken it: a step's timeout counts from there.
        """
        assert not self._is_closed, "submit after close"
        assert self.has_room, "the caller bounds it"
        job = Job(function, context, on_done, on_start)
        self._unfinished += 1
        if self._unfinished > len(self._threads) < self._max_threads:
            thread = Thread(target=self._work, name="fusee-step", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._jobs.put(job)
        return job

    def close(self) -> None:
        """End idle threads, drop waiting jobs and leave running ones to themselves. Idempotent.

        No `on_done` is called afterwards.
        """
        if self._is_closed:
            return
        self._is_closed = True
        for _ in self._threads:
            self._jobs.put(None)
        if self._unfinished == 0:
            # All are idle, so this takes no time, and leaves no thread behind.
            for thread in self._threads:
                thread.join()
        self._threads.clear()

    def _receive(self) -> None:
        try:
            while self._news:
                self._report(*self._news.popleft())
        finally:
            # A callback that raises must not keep the rest from being heard.
            if self._news:
                self._wakeup.ring()

    def _report(self, job: Job, is_over: bool) -> None:
        value, error = job.value, job.error
        if is_over:
            self._unfinished -= 1
            # An error's traceback leads back to the job: without this they keep each other.
            job.value = job.error = None
        if self._is_closed or job.is_cancelled:
            return
        if is_over:
            job.on_done(value, error)
        elif job.on_start is not None:
            job.on_start()

    # ------------------------------------------------------------ in the threads

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            if not self._is_closed:
                self._run(job)
            # An idle thread keeps nothing of a step alive.
            del job

    def _run(self, job: Job) -> None:
        if job.claim():
            if job.on_start is not None:
                self._tell(job, False)
            try:
                job.value = job.context.run(job.function)
            except BaseException as error:
                # Also SystemExit: what it means is for the owner to say, not for this thread.
                job.error = error
        self._tell(job, True)

    def _tell(self, job: Job, is_over: bool) -> None:
        self._news.append((job, is_over))
        self._wakeup.ring()
