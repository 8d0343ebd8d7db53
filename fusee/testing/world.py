"""A world: one clock, one disk, one machine on which lives of an application follow each other,
and the outside, which survives them all.

    world = World(seed, make_registry)
    world.run(scenario())        a coroutine outside; lives come and go meanwhile
    world.heal(); ...            from here on nothing goes wrong

Everything happens in one thread, in an order that the seed alone decides.
"""

from __future__ import annotations

import logging
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from fusee.base.limits import TURNS_PER_ITERATION_MAX
from fusee.log.segment import SegmentSizes
from fusee.testing.disk import Disk
from fusee.testing.host_loop import HostLoop
from fusee.testing.marks import Marks
from fusee.testing.outcome import Stuck
from fusee.testing.plan import FaultPlan, Peace
from fusee.testing.process import Process
from fusee.testing.scheduler import Scheduler
from fusee.testing.seeds import stream
from fusee.testing.trace import Trace

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Coroutine, Generator

    from fusee.embed.engine import Engine
    from fusee.embed.programs import Registry
    from fusee.sdk.step import StepSpec
    from fusee.testing.process import Answer

T = TypeVar("T")

EVENTS_MAX = 2_000_000
LOG_LINES_KEPT = 200
SMALL = SegmentSizes(first_bytes=256 * 1024, next_bytes=512 * 1024)
LOGGERS = (logging.getLogger("fusee"), logging.getLogger("fusee.workflow"))


@dataclass(frozen=True, slots=True)
class Settings:
    """How a world is furnished."""

    sizes: SegmentSizes = SMALL
    flush_ns: int = 80_000
    is_buffered: bool = False
    garbage: float = 0.0
    drain_s: float = 1.0
    sync_threads: int = 4
    async_steps: int = 1000
    clock_look_s: float = float("inf")
    turns_max: int = TURNS_PER_ITERATION_MAX
    restart_us_max: int = 1_000_000
    latency_us_max: int = 300
    shuffles_ties: bool = False


class Watcher:
    """Hears what matters to checkers. The base hears and says nothing."""

    def on_boot(self, process: Process) -> None:
        """A life begins; the disk is as the last one left it."""

    def on_open(self, process: Process) -> None:
        """The life's engine is open."""

    def on_durable(self, process: Process, file: str, offset: int, data: bytes) -> None:
        """A write has become durable."""

    def on_damage_read(self, process: Process, file: int, unit: int) -> None:
        """A process asks for a unit that holds something else than was last written there."""

    def on_turned(self, process: Process) -> None:
        """The process has had an iteration of turns, and there are more to come."""

    def on_idle(self, process: Process) -> None:
        """The process waits for time to pass or for somebody outside."""

    def on_end(self, process: Process) -> None:
        """A life has ended, one way or another."""


class World:
    """Everything around the engine."""

    def __init__(
        self,
        seed: int,
        make_registry: Callable[[], Registry],
        *,
        plan: FaultPlan | None = None,
        settings: Settings | None = None,
        disk: Disk | None = None,
        watcher: Watcher | None = None,
        events_max: int = EVENTS_MAX,
    ) -> None:
        self.seed = seed
        self.settings = settings or Settings()
        self.plan: FaultPlan = plan or Peace()
        self.random = stream(seed, "world")
        tie_break = stream(seed, "ties") if self.settings.shuffles_ties else None
        self.scheduler = Scheduler(tie_break)
        self.trace = Trace()
        self.marks = Marks()
        self.disk = disk or Disk()
        self.watcher = watcher or Watcher()
        self.function_of: Callable[[Process, StepSpec], Callable[..., Any]] = _its_own
        """What a process calls for a step."""
        self.wall_offset_us = 0
        self.process: Process | None = None
        self.lives = 0
        self.recoveries = 0
        self.is_unwinding = False
        """Whether code runs that in a real process would not: of a dead one, taken apart."""
        self.log: deque[str] = deque(maxlen=LOG_LINES_KEPT)
        """What the lives logged, the newest lines."""
        self.bugs: list[BaseException | str] = []
        """What our own code raised where nobody expects anything."""
        self.outside = HostLoop(self.scheduler, self._on_outside_error, _nothing)
        self._make_registry = make_registry
        self._events_max = events_max
        self._waiting: list[asyncio.Future[Process]] = []
        self._unburied: list[Process] = []
        self._is_shut = False

    # ------------------------------------------------------------ time

    @property
    def now_us(self) -> int:
        """The true time."""
        return self.scheduler.now_us

    def run(self, scenario: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine outside to its end, and with it whatever happens meanwhile."""
        task = self.outside.create_task(scenario)
        if self.process is None and not self._is_shut:
            self._boot()
        with self._logged():
            while not task.done():
                self._step(task)
        return task.result()

    @contextmanager
    def _logged(self) -> Generator[None, None, None]:
        """Keep what the engine logs meanwhile: it is this world's, not the real one's."""

        def keep(record: logging.LogRecord) -> bool:
            if not self.is_unwinding:
                now_s = self.now_us / 1e6
                self.log.append(f"{now_s:.6f} {record.levelname} {record.getMessage()}")
            return False

        for logger in LOGGERS:
            logger.addFilter(keep)
        try:
            yield
        finally:
            for logger in LOGGERS:
                logger.removeFilter(keep)

    def _step(self, task: asyncio.Task[Any]) -> None:
        if self.scheduler.events_run >= self._events_max:
            self._give_up(task, f"{self._events_max:,} events were not enough")
        if not self.scheduler.run_next():
            self._give_up(task, "nothing will ever happen again")

    def _give_up(self, task: asyncio.Task[Any], why: str) -> None:
        task.cancel()
        raise Stuck(f"{why}, and somebody outside still waits")

    # ------------------------------------------------------------ lives

    def _boot(self) -> None:
        if self._is_shut or self.process is not None:
            return  # Whoever ran the world meanwhile has started the next life already.
        self.lives += 1
        self.trace.add(self.now_us, "boot", self.lives)
        process = self.process = Process(self, self.lives, self._make_registry())
        self.watcher.on_boot(process)

    def on_open(self, process: Process) -> None:
        """A life serves."""
        self.recoveries += self.lives > 1
        self.trace.add(self.now_us, "open", process.number)
        self.watcher.on_open(process)
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(process)

    def on_death(self, process: Process) -> None:
        """A process died; another one is started, as whoever runs it would do."""
        self.trace.add(self.now_us, "dead", process.number)
        self.watcher.on_end(process)
        self._bury_soon(process)
        self._restart()

    def on_exit(self, process: Process) -> None:
        """A process ended by itself."""
        self.trace.add(self.now_us, "exit", process.number)
        self.watcher.on_end(process)
        self._bury_soon(process)
        if process.refusal is None:
            self._restart()

    def _bury_soon(self, process: Process) -> None:
        """Take a process apart that has ended, once nothing of it is on the stack any more."""
        self._unburied.append(process)
        self.scheduler.after(0, self._bury)

    def _bury(self) -> None:
        while self._unburied:
            self._unburied.pop(0).bury()

    @contextmanager
    def unwinding(self) -> Generator[None, None, None]:
        """Take something apart: nothing that its code does meanwhile is heard."""
        outer, self.is_unwinding = self.is_unwinding, True
        try:
            yield
        finally:
            self.is_unwinding = outer

    def _restart(self) -> None:
        self.process = None
        delay_us = self.random.randrange(1, self.settings.restart_us_max)
        self.scheduler.after(delay_us, self._boot)

    def evict(self) -> None:
        """Take every run out of the memory of the process that runs."""
        if self.process is not None and self.process.is_open:
            self.process.evict()

    def crash(self) -> None:
        """Kill the process that runs, if one does."""
        if self.process is not None:
            self.process.die()

    def heal(self) -> None:
        """From here on nothing goes wrong."""
        self.plan = Peace()

    def abandon(self) -> None:
        """Take everything apart, wherever it is."""
        self._is_shut = True
        process = self.process
        with self._logged():
            if process is not None:
                process.die()
            self._bury()
            self._discard_outside()

    def _discard_outside(self) -> None:
        """Unwind whoever still waits outside."""
        with self.unwinding():
            self.outside.discard()

    def dismantle(self) -> None:
        """Let go of disk, processes and callers: the world is over, whoever still holds it."""
        self._discard_outside()
        self.disk.wipe()
        self.process = None
        self._waiting.clear()
        self.bugs.clear()

    def shut(self) -> None:
        """End: the last process closes, and none follows."""
        self._is_shut = True
        if self.process is not None and self.process.is_open:
            self.process.close()
        with self._logged():
            while self.scheduler.run_next():
                pass
            self._bury()
            self._discard_outside()

    # ------------------------------------------------------------ from outside

    async def sleep(self, time_s: float) -> None:
        """Let time pass outside."""
        future: asyncio.Future[None] = self.outside.create_future()
        self.scheduler.after(round(time_s * 1e6), lambda: _settle(future, None))
        await future

    async def serving(self) -> Process:
        """Return a process that serves, waiting for one."""
        process = self.process
        if process is not None and process.is_open:
            return process
        future: asyncio.Future[Process] = self.outside.create_future()
        self._waiting.append(future)
        return await future

    async def attempt(
        self,
        make: Callable[[Engine], Awaitable[T]],
        seen: Callable[[Process, T | None, BaseException | None], None],
    ) -> Answer | None:
        """Call the engine that serves; None when the line broke, whatever had happened by then."""
        process = await self.serving()
        future: asyncio.Future[Answer | None] = self.outside.create_future()

        def answer(given: Answer | None) -> None:
            self.scheduler.after(self._latency_us(), lambda: _settle(future, given))

        def ask() -> None:
            if process.is_open:
                process.perform(make, seen, answer)
            else:
                answer(None)

        self.scheduler.after(self._latency_us(), ask)
        return await future

    async def call(
        self,
        make: Callable[[Engine], Awaitable[T]],
        seen: Callable[[Process, T | None, BaseException | None], None] | None = None,
    ) -> T:
        """Call until somebody answers. `make` must ask for the same thing each time."""
        while True:
            answer = await self.attempt(make, seen or _unseen)
            if answer is not None:
                value, error = answer
                if error is not None:
                    raise error
                return value  # type: ignore[no-any-return]

    def _latency_us(self) -> int:
        return self.random.randrange(1, self.settings.latency_us_max)

    # ------------------------------------------------------------ findings

    def on_error(self, text: str, error: BaseException | None) -> None:
        """Our own code raised where nobody expects anything."""
        self.bugs.append(error or text)

    def _on_outside_error(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        self.on_error(f"outside: {context.get('message')}", error)


def _settle(future: asyncio.Future[Any], value: Any) -> None:
    if not future.done():
        future.set_result(value)


def _its_own(process: Process, spec: StepSpec) -> Callable[..., Any]:
    return spec.fn


def _nothing() -> None:
    """Nobody watches the outside."""


def _unseen(process: Process, value: object, error: BaseException | None) -> None:
    """Nobody checks this answer."""
