"""Every short sequence of the operations a client has, as ACE does it for file systems.

The persistence bugs of file systems show in sequences of two or three operations with a crash
behind a persistence call (Mohan et al., OSDI 2018). These are ours:

    start    a run, acknowledged
    step     the newest run calls a step; a query then shows its result
    signal   the newest run gets a signal that nobody waits for, acknowledged
    close    close the engine; the next operation opens it again
    reopen   close it and open it
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any

from fusee import (
    AlreadyFinished,
    Context,
    Engine,
    EngineStopped,
    Query,
    Signal,
    WorkflowFinished,
    workflow,
)
from tests.real.outside import Line

OPERATIONS = ("start", "step", "signal", "close", "reopen")
todo = Signal[int]("todo")
noise = Signal[int]("noise")
done = Query[None, list[str]]("done")
_service: Any = None


def sequences(length_max: int) -> Iterator[tuple[str, ...]]:
    """All sequences, the short ones first."""
    for length in range(1, length_max + 1):
        yield from itertools.product(OPERATIONS, repeat=length)


def note(piece: str, number: int) -> str:
    answer = _service.call(piece=piece, number=number)
    assert isinstance(answer, str)
    return answer


@workflow
async def piece(ctx: Context, name: str) -> list[str]:
    """Do a step for each number it is sent, until a negative one comes."""
    answers: list[str] = []
    ctx.on_query(done)(lambda: answers)
    while (number := await ctx.wait_for(todo)) >= 0:
        answers.append(await ctx.step(note, name, number))
    return answers


def bind(service: Any) -> Any:
    """Say where the service is; return the workflow."""
    global _service
    _service = service
    return piece


class _Client:
    """Repeats itself over lives: every call has an ID that follows from its place."""

    def __init__(self, open_engine: Callable[[], Engine], line: Line) -> None:
        self._open = open_engine
        self._line = line
        self._exits = AsyncExitStack()
        self._engine: Engine | None = None
        self._run_count = 0
        self._step_count = 0

    async def engine(self) -> Engine:
        if self._engine is None:
            self._engine = await self._exits.enter_async_context(self._open())
        return self._engine

    async def close(self) -> None:
        engine, self._engine = self._engine, None
        await self._exits.aclose()
        if engine is not None and engine.stopped is not None:
            raise EngineStopped("while it closed", engine.stopped)

    async def start(self) -> None:
        self._run_count += 1
        self._step_count = 0
        name = f"piece-{self._run_count}"
        try:
            engine = (await self.engine()).options(request_id=name)
            await engine.start(piece, name, name)
        except AlreadyFinished:
            pass
        self._line.say(started=f"{name}/1")

    async def _newest(self) -> str:
        if not self._run_count:
            await self.start()
        return f"piece-{self._run_count}"

    async def send(self, signal: Signal[int], number: int, *, to: str) -> None:
        signal_id = f"{signal.name} {number}"
        try:
            run = (await self.engine()).get(piece, to)
            await run.signal(signal, number, signal_id=signal_id)
        except WorkflowFinished:
            return
        self._line.say(signalled=f"{to}/1", id=signal_id, payload=str(number))

    async def step(self) -> None:
        name = await self._newest()
        self._step_count += 1
        await self.send(todo, self._step_count, to=name)
        seen = await (await self.engine()).get(piece, name).query(done)
        self._line.say(answered=f"{name}/1", seen=seen)

    async def signal(self) -> None:
        name = await self._newest()
        await self.send(noise, 1, to=name)

    async def reopen(self) -> None:
        await self.close()
        await self.engine()

    async def finish(self) -> None:
        """End every run and see its result."""
        for number in range(1, self._run_count + 1):
            name = f"piece-{number}"
            await self.send(todo, -1, to=name)
            value = await (await self.engine()).get(piece, name).result()
            self._line.say(result=f"{name}/1", value=value)


async def drive(
    open_engine: Callable[[], Engine], line: Line, *, operations: list[str], is_last: bool
) -> None:
    """Do the operations, close, and in the last life also end what they began."""
    client = _Client(open_engine, line)
    try:
        for operation in operations:
            await getattr(client, operation)()
        if is_last:
            await client.finish()
    finally:
        await client.close()
    line.say(finished=True)
