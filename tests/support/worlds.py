"""An engine on a log in memory that is kept, with a clock of its own, and reopened at will.

    async with opened(checkout) as world:
        await world.finish(world.engine.run(checkout, "o-1"))     # sleeps take no time
    async with opened(checkout, log=world.log[:5]) as again:      # five tickets survived
        ...

`log` is what was appended, one item a ticket: any prefix of it is what a crash could have left.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from fusee.base.checksum import NO_HASH
from fusee.base.clock import Clock
from fusee.base.ids import ShardId, Ticket
from fusee.base.limits import SHARD_COUNT
from fusee.embed.assembly import SEAL_SLOW_S, Assembly, Wake, _state
from fusee.embed.engine import Engine
from fusee.embed.programs import Registry
from fusee.engine.recovery import Recovery
from fusee.engine.run import Held, Run
from fusee.engine.table import RunTable
from fusee.io.surroundings import Surroundings
from fusee.log.batch import Batch
from fusee.node.local_node import LocalNode
from fusee.node.memory_log import MemoryLog
from fusee.record.group import Group, decode_records, decode_section, encode_section
from fusee.record.kinds import AnyRecord, Completed, Delivered
from fusee.sdk.workflow import Workflow
from fusee.vr.ready import Ready
from fusee.vr.restart import on_recovered, on_view_persisted
from fusee.vr.state import ReplicaState

T = TypeVar("T")
Log = list[list[bytes]]
"""Encoded groups, one list a ticket."""

MORNING_US = 1_750_000_000_000_000


class StillClock:
    """Time that moves only when told."""

    def __init__(self, now_us: int = MORNING_US) -> None:
        self.now_us = now_us

    def wall_us(self) -> int:
        return self.now_us

    def monotonic_ns(self) -> int:
        return self.now_us * 1000


class HeldLog(MemoryLog):
    """A disk whose writes complete when the test says so."""

    is_instant = False

    def __init__(self) -> None:
        super().__init__()
        self.held: list[Callable[[BaseException | None], None]] = []

    def submit(
        self, batch: Batch, durable_op: int, on_done: Callable[[BaseException | None], None]
    ) -> bool:
        self.held.append(on_done)
        return True

    def release(self, error: BaseException | None = None) -> None:
        """Complete the write in flight, as the loop would hear of it: in a callback."""
        asyncio.get_running_loop().call_soon(self.held.pop(0), error)


class KeepingNode(LocalNode):
    """A node that keeps what was appended to it, ticket by ticket."""

    def __init__(self, state: ReplicaState, storage: MemoryLog, clock: Clock, log: Log) -> None:
        super().__init__(state, storage, clock)
        self.log = log
        self.append = self._keep

    def _keep(self, shard: ShardId, group: bytes) -> Ticket:
        self.log.append([group])
        return self.tickets.append(shard, group)

    def append_together(self, groups: Sequence[tuple[ShardId, bytes]]) -> Ticket:
        self.log.append([group for _, group in groups])
        return super().append_together(groups)


def groups_of(ticket: Sequence[bytes]) -> list[Group]:
    return decode_section(encode_section(ticket))


def records_in(log: Sequence[Sequence[bytes]]) -> list[tuple[str, AnyRecord]]:
    """Return the records of a log with the key of their run."""
    return [
        (f"{group.workflow_id}/{group.ordinal}", record)
        for ticket in log
        for group in groups_of(ticket)
        for record in decode_records(bytes(group.records))
    ]


def table_of(log: Sequence[Sequence[bytes]]) -> RunTable:
    """Return the runs that a log holds, as recovery builds them."""
    recovery = Recovery(SHARD_COUNT)
    for ticket in log:
        recovery.apply_section(encode_section(ticket))
    return recovery.finish()


def completed_steps(log: Sequence[Sequence[bytes]]) -> set[str]:
    """Return the keys of operations whose outcome a log holds."""
    return {
        f"{run}/{record.position}" for run, record in records_in(log) if type(record) is Completed
    }


def delivered(log: Sequence[Sequence[bytes]]) -> list[int]:
    """Return the positions whose outcomes the code saw, in order."""
    return [
        record.position
        for _, record in records_in(log)
        if type(record) is Delivered or (type(record) is Completed and record.delivered)
    ]


class World:
    """One open engine, its log, its clock."""

    def __init__(self, clock: StillClock, storage: MemoryLog, log: Log) -> None:
        self.clock = clock
        self.storage = storage
        self.log = log
        self.engine: Engine
        self.node: KeepingNode

    def assemble(self, clock: Clock, wake: Wake) -> Assembly:
        state: ReplicaState = _state(
            bytes(16), view=0, head_op=0, head_hash=NO_HASH, ts_us=self.clock.now_us
        )
        on_recovered(state, Ready())
        on_view_persisted(state)
        table = table_of(self.log)
        self.node = KeepingNode(state, self.storage, self.clock, self.log)
        return Assembly(self.node, table, SEAL_SLOW_S, ())

    @property
    def core(self) -> Any:
        return self.engine.life.core

    def run_of(self, workflow_id: str) -> Run:
        run = self.core.table.latest(workflow_id)
        assert isinstance(run, Run), run
        return run

    def held(self, workflow_id: str) -> Held | None:
        return self.run_of(workflow_id).held

    def records(self, kind: type[Any] | None = None) -> list[Any]:
        """Return the records of the log, or those of one kind."""
        return [r for _, r in records_in(self.log) if kind is None or type(r) is kind]

    async def settle(self) -> None:
        """Let everything run that needs no time to pass and no test to act."""
        quiet = 0
        while quiet < 5:
            await asyncio.sleep(0)
            life = self.engine.life
            quiet = 0 if life.core.ready or life.pump._scheduled else quiet + 1

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.now_us += round(seconds * 1e6)
        self.engine.life.pump.wake()

    def skip(self) -> bool:
        """Go to the next due time; say whether there was one."""
        due_us = self.core.timers.next_due_us()
        if due_us is None:
            return False
        self.clock.now_us = max(self.clock.now_us, due_us)
        self.engine.life.pump.wake()
        return True

    async def finish(self, awaitable: Awaitable[T]) -> T:
        """Wait for something; while nothing can move, time jumps to the next due time."""
        task = asyncio.ensure_future(awaitable)
        try:
            while not task.done():
                await self.settle()
                if not task.done() and not self.engine.life.runner.running and not self.skip():
                    held = [r.held for r in self.core.table.all() if isinstance(r, Run) and r.held]
                    assert not held, held[0].text
                    await asyncio.sleep(0.001)
            return task.result()
        finally:
            task.cancel()


@asynccontextmanager
async def opened(
    *workflows: Workflow[Any, Any],
    log: Sequence[Sequence[bytes]] = (),
    clock: StillClock | None = None,
    storage: MemoryLog | None = None,
    drain: float = 0.0,
    sync_threads: int = 4,
    async_steps: int = 1000,
    surroundings: Surroundings | None = None,
) -> AsyncIterator[World]:
    """Open an engine on what a log holds; its clock begins where the log ends."""
    if clock is None:
        clock = StillClock(max([MORNING_US, *(r.at_us for _, r in records_in(log))]))
    world = World(clock, storage or MemoryLog(), [list(t) for t in log])
    world.engine = Engine(
        world.assemble,
        Registry(workflows),
        drain_s=drain,
        sync_threads=sync_threads,
        async_steps=async_steps,
        surroundings=surroundings,
    )
    async with world.engine:
        yield world
