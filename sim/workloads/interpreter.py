"""The workflow that carries out a random program, and the service that its steps call.

What a run has seen so far goes into the input of each later step as a digest. So if a crash
took back anything that a step rested on, its key is called with another input, and the
service notices.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol
from zlib import crc32

import fusee
from fusee import Context, Query, Retry, Signal
from fusee.base.errors import FuseeError
from fusee.sdk.workflow import Workflow

if TYPE_CHECKING:
    from sim.workloads.programs import Program

QUICK = Retry(4, initial=0.01, jitter=0.2)
TWICE = Retry(2, initial=0.005, jitter=0)
SEEN = Query[None, list[str]]("seen")


class Declined(Exception):
    """The service had a bad moment."""


class Doomed(Exception):
    """The program says that its run fails."""


class Service(Protocol):
    """What steps call: outside of the process, with a log of its own."""

    def call(self, *, is_read_only: bool = False, ends: bool = True, **given: Any) -> str:
        """Note a call with its key, and answer; never twice the same.

        `ends`: the function that calls has nothing else to do.
        """
        ...

    def alarm(self, text: str) -> None:
        """Note that code ran which nothing asked for."""
        ...


class Till:
    """The step functions. Each calls the service first of all.

    Plain functions, not methods: what the engine learns about a function it keeps with it, and
    a bound method is a new object at each look.
    """

    def __init__(self, service: Service) -> None:
        call = service.call

        async def effect(digest: str, size: int) -> str:
            return call(digest=digest, size=size) + "." * size

        def sync(digest: str, size: int) -> str:
            return call(digest=digest, size=size) + "." * size

        @fusee.step(read_only=True)
        async def read(digest: str, size: int) -> str:
            return call(is_read_only=True, digest=digest, size=size) + "." * size

        @fusee.step(retry=QUICK)
        async def retry(digest: str, failures: int) -> str:
            answer = call(digest=digest, failures=failures)
            if fusee.current_step().attempt <= failures:
                raise Declined(answer)
            return answer

        @fusee.step(retry=TWICE)
        def fails(digest: str) -> str:
            raise Declined(call(digest=digest))

        @fusee.step(timeout=0.03, retry=TWICE)
        async def late(digest: str) -> str:
            answer = call(ends=False, digest=digest)
            await asyncio.sleep(0.2 if fusee.current_step().attempt == 1 else 0)
            return answer

        async def slow(digest: str, time_ms: int) -> str:
            answer = call(ends=False, digest=digest, time_ms=time_ms)
            await asyncio.sleep(min(time_ms, 2_000) / 1000)
            return answer

        async def number(digest: str) -> float:
            call(digest=digest)
            return 1  # What the code sees is what the log says of it: 1.0.

        self.alarm = service.alarm
        self.number = number
        self.effect, self.sync, self.read = effect, sync, read
        self.retry, self.fails, self.late, self.slow = retry, fails, late, slow


class Actor:
    """One run's state while it carries out its program."""

    def __init__(self, ctx: Context, till: Till) -> None:
        self.digest = "0"
        self.seen: list[str] = []
        self._ctx = ctx
        self._till = till
        self._lock = asyncio.Lock()

    def mix(self, value: object) -> None:
        """Let everything later depend on a value, and on its place in the order."""
        self.digest = f"{crc32(f'{self.digest}/{value}'.encode()):08x}"

    async def perform(self, program: Program) -> None:
        """Carry out instructions one by one."""
        for name, *args in program:
            try:
                await getattr(self, f"do_{name}")(*args)
            except (FuseeError, TimeoutError, Declined, asyncio.InvalidStateError) as error:
                # What a step or a wait raised is a value like any other.
                self.mix(f"{type(error).__name__}: {error}")

    async def _step(self, function: Callable[..., Any], *args: Any) -> None:
        value: str = await self._ctx.step(function, self.digest, *args)
        self.seen.append(value)
        self.mix(value)

    async def do_effect(self, size: int) -> None:
        await self._step(self._till.effect, size)

    async def do_sync(self, size: int) -> None:
        await self._step(self._till.sync, size)

    async def do_read(self, size: int) -> None:
        await self._step(self._till.read, size)

    async def do_big(self, size: int) -> None:
        await self._step(self._till.effect, size)

    async def do_retry(self, failures: int) -> None:
        await self._step(self._till.retry, failures)

    async def do_fails(self) -> None:
        await self._step(self._till.fails)

    async def do_late(self) -> None:
        await self._step(self._till.late)

    async def do_slow(self, time_ms: int) -> None:
        await self._step(self._till.slow, time_ms)

    async def do_number(self) -> None:
        self.mix(repr(await self._ctx.step(self._till.number, self.digest)))

    async def do_guard(self, time_ms: int) -> None:
        try:
            await self._ctx.sleep(time_ms / 1000)
        except Exception as error:
            # A sleep raises nothing. Leaving memory must not look like a failure to the code.
            self._till.alarm(f"run {self._ctx.info.id} compensates for {error!r}")
            raise

    async def do_shout(self, targets: list[str], times: int) -> None:
        """Say much to some in one turn: more than a batch takes at once."""
        ctx, signal = self._ctx, Signal[str]("shouted")
        text = self.digest * times
        told = [ctx.external(target).signal(signal, text) for target in targets]
        for outcome in await asyncio.gather(*told, return_exceptions=True):
            self.mix(type(outcome).__name__)

    async def do_sleep(self, time_ms: int) -> None:
        await self._ctx.sleep(time_ms / 1000)

    async def do_yield(self) -> None:
        await asyncio.sleep(0)

    async def do_wait(self, name: str, timeout_ms: int) -> None:
        signal = Signal[str](name)
        self.mix(await self._ctx.wait_for(signal, timeout=timeout_ms / 1000, default="nothing"))

    async def do_tell(self, target: str, name: str) -> None:
        await self._ctx.external(target).signal(Signal[str](name), self.digest)

    async def do_draw(self) -> None:
        ctx = self._ctx
        self.mix((ctx.uuid4(), ctx.random(), ctx.now().timestamp()))

    async def do_cancel(self) -> None:
        op = self._ctx.step(self._till.slow, self.digest, 50)
        await asyncio.wait({op}, timeout=0.01)
        op.cancel()
        try:
            self.mix(await op.outcome())
        except FuseeError as error:
            self.mix(type(error).__name__)

    async def do_swallow(self) -> None:
        """Code that takes a cancellation for its own affair."""

        async def stubborn() -> str:
            try:
                await self._ctx.sleep(5)
            except asyncio.CancelledError:
                return "stayed"
            return "slept"

        task = asyncio.create_task(stubborn())
        await asyncio.sleep(0)
        task.cancel()
        self.mix(await task)

    async def do_gather(self, parts: list[Program]) -> None:
        await asyncio.gather(*(self.perform(part) for part in parts))

    async def do_group(self, parts: list[Program]) -> None:
        async with asyncio.TaskGroup() as group:
            for part in parts:
                group.create_task(self.perform(part))

    async def do_first(self, parts: list[Program]) -> None:
        tasks = [asyncio.create_task(self.perform(part)) for part in parts]
        _, rest = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in rest:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.mix([task.cancelled() for task in tasks])

    async def do_completed(self, parts: list[Program]) -> None:
        for number, next_done in enumerate(asyncio.as_completed([*map(self.perform, parts)])):
            await next_done
            self.mix(number)

    async def do_deadline(self, time_ms: int, program: Program) -> None:
        async with asyncio.timeout(time_ms / 1000):
            await self.perform(program)

    async def do_lock(self, time_ms: int, program: Program) -> None:
        async with self._lock:
            await self._ctx.sleep(time_ms / 1000)
            await self.perform([step for step in program if step[0] not in ("lock",)])

    async def do_raise(self) -> None:
        raise Doomed(self.digest)


def workflows(service: Service) -> list[Workflow[Any, Any]]:
    """Return the application: its workflows, whose steps call `service`."""
    till = Till(service)

    @fusee.workflow
    async def perform(ctx: Context, program: list[list[Any]]) -> str:
        actor = Actor(ctx, till)
        ctx.on_query(SEEN)(lambda: actor.seen)
        await actor.perform(program)
        return actor.digest

    return [perform]
