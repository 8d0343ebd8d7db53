"""One life of an application: an event loop, an engine on the disk, and an end.

    boot ── open ── serves calls ──┬── dies at a point: nothing of its memory is ever seen again
                                   ├── its engine stops: it closes and ends, as a server would
                                   └── is asked to close

What a dead process still does while its objects fall apart is not heard: its device is off,
its calls have no effect, its answers go nowhere.
"""

from __future__ import annotations

import traceback
from collections import Counter
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from fusee.base.errors import AcknowledgedDataLost, DirectoryRefused, EngineStopped
from fusee.embed.assembly import Assembly, assemble_on
from fusee.embed.engine import Engine
from fusee.engine.run import Run
from fusee.io.surroundings import Surroundings
from fusee.testing.cold import among, make_loop, make_threads
from fusee.testing.device import PowerLost
from fusee.testing.process_device import ProcessDevice
from fusee.testing.seeds import stream
from fusee.testing.submitter import SimSubmitter
from fusee.testing.threads import NotLooking, SimAside

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fusee.base.clock import Clock
    from fusee.embed.assembly import Wake
    from fusee.embed.programs import Registry
    from fusee.testing.threads import SimThreads
    from fusee.testing.world import World

T = TypeVar("T")
Answer = tuple[Any, BaseException | None]


def _every() -> bool:
    return True


class ProcessClock:
    """`fusee.base.clock.Clock` of one process: the world's time, off by what its machine is."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._scheduler = world.scheduler

    def wall_us(self) -> int:
        """Return the machine's wall clock."""
        return self._scheduler.now_us + self._world.wall_offset_us

    def monotonic_ns(self) -> int:
        """Return the time since the world began."""
        return self._scheduler.now_us * 1000


class Process:
    """One life. `world` sees to what happens after it."""

    def __init__(self, world: World, number: int, registry: Registry) -> None:
        self.world = world
        self.number = number
        self.is_alive = True
        self.is_open = False
        self.has_opened = False
        """Whether it has ever served: then its runs can be looked at, also when it has ended."""
        self.was_closed = False
        """Whether it was asked to end, and then nothing failed."""
        self.refusal: BaseException | None = None
        """Why the directory could not be opened."""
        self.passed: Counter[str] = Counter()
        """How often each point was passed in this life."""
        self.loose: dict[object, Callable[[], None]] = {}
        """Closes what a step has returned for the loop to await, until that has begun."""
        self.registry = registry
        self.loop = make_loop(registry, world.scheduler, self._on_error, self._iterated)
        self.random = stream(world.seed, f"life {number}")
        self.device = ProcessDevice(self)
        self._submitter: SimSubmitter | None = None
        self._threads: SimThreads | None = None
        self._asides: list[SimAside] = []
        self._calls: dict[int, Callable[[Answer | None], None]] = {}
        self._called = 0
        self.engine = Engine(
            self._assemble,
            registry,
            drain_s=world.settings.drain_s,
            sync_threads=world.settings.sync_threads,
            async_steps=world.settings.async_steps,
            has_admin=False,
            surroundings=self._surroundings(),
        )
        self._is_asked = False
        self._closing = self.loop.create_future()
        self.loop.create_task(self._main())

    # ------------------------------------------------------------ points

    def point(self, name: str) -> None:
        """Pass a named point; the process may die here."""
        if not self.is_alive:
            raise PowerLost
        self.passed[name] += 1
        if self.world.plan.dies(self.number, name, self.passed[name]):
            self.world.trace.add(self.world.scheduler.now_us, "dies", name, self.passed[name])
            self.world.marks.hit(f"death:{name}")
            self.die()
            raise PowerLost

    @property
    def is_idle(self) -> bool:
        """Whether it serves, and everything that can go on by itself has done so."""
        if not self.is_open or self._closing.done():
            return False
        core = self.engine.life.core
        return not (
            self.loop.has_ready
            or core.ready
            or core.starting
            or self.engine.life.assembly.node.busy
        )

    def die(self) -> None:
        """End at once, as SIGKILL or a power cut does."""
        if not self.is_alive:
            return
        self.is_alive = self.is_open = False
        self.loop.halt()
        if not self.device.is_off:
            self.device.crash(self.random)
        if self._submitter is not None:
            self._submitter.forget()
        if self._threads is not None:
            self._threads.close()
        for aside in self._asides:
            aside.forget()
        self.world.on_death(self)

    def bury(self) -> None:
        """Take apart what is left, when nothing of it is on the stack any more.

        Every coroutine of it is unwound here: those of its runs as when a run leaves memory,
        then those of its steps. None is left to the collector, which would run what users
        wrote in `finally` in the middle of a later life.
        """
        with self.world.unwinding(), among(self.registry):
            if self.has_opened:
                core = self.engine.life.core
                for run in [*core.table.all(), *core.ready]:
                    if isinstance(run, Run) and run.program is not None:
                        run.program.evict()
            for close in list(self.loose.values()):
                close()
            self.loop.discard()
        for hang_up in list(self._calls.values()):
            hang_up(None)
        self._calls.clear()

    # ------------------------------------------------------------ life

    def _surroundings(self) -> Surroundings:
        return Surroundings(
            clock=ProcessClock(self.world),
            entropy=self.random.randbytes,
            random=self.random,
            make_threads=self._make_threads,
            run_aside=self._run_aside,
            look_aside=NotLooking,
            clock_look_s=self.world.settings.clock_look_s,
            turns_max=self.world.settings.turns_max,
            function_of=partial(self.world.function_of, self),
            python="3.x",
        )

    def _make_threads(self, threads_max: int, wake: Wake) -> SimThreads:
        self._threads = make_threads(
            self.registry,
            self.world.scheduler,
            lambda: self.random.randrange(1, 400),
            threads_max,
            wake,
        )
        return self._threads

    def _run_aside(self, work: Callable[[], None], name: str) -> SimAside:
        aside = SimAside(self.world.scheduler, self.random.randrange(10, 30_000), work)
        self._asides.append(aside)
        return aside

    def _assemble(self, clock: Clock, wake: Wake) -> Assembly:
        world = self.world

        def make_submitter(device: Any, wake: Wake, clock: Clock) -> SimSubmitter:
            self._submitter = SimSubmitter(
                device, wake, clock, world.scheduler, self.device.write_us, world.marks.hit
            )
            return self._submitter

        assembly = assemble_on(
            self.device,
            None,
            clock,
            wake,
            sizes=world.settings.sizes,
            make_submitter=make_submitter,
            entropy=self.random.randbytes,
        )
        append = assembly.node.append

        def watched(shard: Any, group: bytes) -> Any:
            ticket = append(shard, group)
            self.point("append")
            return ticket

        assembly.node.append = watched
        return assembly

    async def _main(self) -> None:
        try:
            async with self.engine:
                self.is_open = self.has_opened = True
                self.world.on_open(self)
                await self._closing
            self.was_closed = self._is_asked and self.engine.stopped is None
        except (AcknowledgedDataLost, DirectoryRefused) as error:
            self.refusal = error
        except PowerLost:
            return
        except Exception as error:
            if not self.is_alive:
                return  # It is being taken apart.
            if self.device.failure is None:
                self.world.on_error(f"life {self.number} ended by {error!r}", error)
        self.is_open = False
        self.is_alive = False
        self.world.on_exit(self)

    def evict(self, chosen: Callable[[], bool] = _every) -> int:
        """Take runs out of memory, which come back by replay: each if it is chosen."""
        core = self.engine.life.core
        runs = [run for run in core.table.open_runs() if run.program is not None and chosen()]
        for run in runs:
            core.reload(run)
        if runs:
            self.engine.life.pump.wake()
        return len(runs)

    def close(self) -> None:
        """Ask the process to end in order."""
        self._is_asked = True
        self._closing_now()

    def _closing_now(self) -> None:
        if not self._closing.done():
            self._closing.set_result(None)

    def _iterated(self) -> None:
        if not self.is_alive:
            return
        stopped = self.engine.stopped
        if stopped is not None and not self._closing.done():
            if not isinstance(stopped, OSError):
                self.world.on_error(f"life {self.number}: its engine stopped: {stopped!r}", stopped)
            self._closing_now()
        with suppress(PowerLost):
            self.point("iteration")
            if self.is_idle:
                self.world.watcher.on_idle(self)
            elif self.is_open and not self._closing.done() and self.engine.life.core.ready:
                self.world.watcher.on_turned(self)

    def _on_error(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, PowerLost):
            # Its frames hold outcomes on their way, which the collector does not look into.
            traceback.clear_frames(error.__traceback__)
        if isinstance(error, PowerLost) or not self.is_alive:
            return
        self.world.on_error(f"life {self.number}: {context.get('message')}: {error!r}", error)

    # ------------------------------------------------------------ calls from outside

    def perform(
        self,
        make: Callable[[Engine], Awaitable[T]],
        seen: Callable[[Process, T | None, BaseException | None], None],
        answer: Callable[[Answer | None], None],
    ) -> None:
        """Make a call of this life's engine. `answer` gets what came, None if the line broke.

        `seen` is told in this process at the moment the answer leaves it.
        """
        self._called = number = self._called + 1
        self._calls[number] = answer

        async def run() -> None:
            value: T | None = None
            error: BaseException | None = None
            try:
                value = await make(self.engine)
            except EngineStopped:
                return  # The process ends soon; the caller hears of that.
            except Exception as raised:
                error = raised
            if not self.is_alive:
                return
            self.point("before-ack")
            seen(self, value, error)
            self._calls.pop(number)((value, error))
            self.point("after-ack")

        self.loop.create_task(run())
