"""The engine: runs, the ready queue, the gate and the timers, bound to one commit log.

`Core` holds the state and the few primitives that every part needs (append, queue, hold);
the parts are modules of functions over it: `admission` (starts), `messages` (signals and
queries), `turns` (running code), `outcomes` (steps and timers), `views` (describe).

It drives nothing by itself: the owner calls `turns.run_turns`, `outcomes.fire_timers` and
`committed`, and is told through `wake` that there is something to do.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from fusee.base.errors import CodeError, NonDeterminism, PayloadError, RunHeld
from fusee.base.limits import WEIGHED_BYTES_MIN
from fusee.engine import messages
from fusee.engine.appending import CHUNK_BYTES_MAX, append_turn
from fusee.engine.gate import Gate
from fusee.engine.run import Held, Run
from fusee.engine.steps import clear_inbox, keep_arrived, start
from fusee.engine.table import RunTable
from fusee.engine.timers import TimerKey, Timers
from fusee.engine.watch import TurnWatch
from fusee.record.group import encode_records, with_marks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fusee.base.ids import ShardId, Ticket
    from fusee.engine.commitlog import CommitLog
    from fusee.engine.program import PendingOp, Program, Steps
    from fusee.journal.machine import Machine
    from fusee.record.kinds import AnyRecord


WARNING = 30
"""The level of Python's logging, which this floor does not import."""


def _say_nothing(lines: list[tuple[int, str]]) -> None:
    """Nobody listens to log lines."""


class Core:
    """The engine's state. One per process and directory, owned by one thread."""

    __slots__ = (
        "draining",
        "gate",
        "load_program",
        "log",
        "ready",
        "say",
        "start",
        "starting",
        "steps",
        "storage_full",
        "table",
        "timers",
        "turning",
        "unwilling",
        "wake",
        "watch",
    )

    def __init__(
        self,
        log: CommitLog,
        *,
        table: RunTable,
        steps: Steps,
        load_program: Callable[[Run, Machine], Program | Held],
        wake: Callable[[], None],
        say: Callable[[list[tuple[int, str]]], None] = _say_nothing,
    ) -> None:
        self.log = log
        self.steps = steps
        self.load_program = load_program
        self.wake = wake
        self.say = say
        """Emits log lines of workflow code, once what they tell is committed."""
        self.table = table
        self.gate = Gate()
        self.timers = Timers()
        self.ready: deque[Run] = deque()
        self.starting: deque[tuple[Run, PendingOp]] = deque()
        """Steps of these turns that need not wait for the flush: read-only, or durable before."""
        self.start = partial(start, self)
        """Runs the function of a (run, operation) whose gate has opened."""
        self.draining = False
        self.turning = False
        """The owner is in its loop over ready runs and needs no waking."""
        self.watch = TurnWatch()
        self.storage_full = False
        self.unwilling: list[str] = []
        """Tasks that refused to unwind, by run and task name; leaked and reported."""

    # ------------------------------------------------------------ primitives

    def append(self, run: Run, records: Sequence[AnyRecord], marks: int = 0) -> Ticket:
        """Append one group of a run's records: visible now, durable when its ticket commits."""
        data: bytes | memoryview = encode_records(records)
        is_large = len(data) >= WEIGHED_BYTES_MIN
        if is_large and len(data) > CHUNK_BYTES_MAX and len(records) > 1:
            return append_turn(self, run, list(records), marks)
        head = run.head if marks == 0 else with_marks(run.head, marks)
        group = head + data
        if is_large:
            data = memoryview(group)[len(head) :]  # Not twice in memory.
        run.groups.append(data)
        ticket = run.last_ticket = self.log.append(run.shard, group)
        if is_large:
            self.log.weigh()
        return ticket

    def append_together(self, parts: Sequence[tuple[Run, Sequence[AnyRecord], int]]) -> Ticket:
        """Append groups of several runs under one ticket: none survives without the others."""
        groups: list[tuple[ShardId, bytes]] = []
        for run, records, marks in parts:
            data = encode_records(records)
            run.groups.append(data)
            groups.append((run.shard, with_marks(run.head, marks) + data))
        ticket = self.log.append_together(groups)
        for run, _, _ in parts:
            run.last_ticket = ticket
        if sum(len(group) for _, group in groups) >= WEIGHED_BYTES_MIN:
            self.log.weigh()
        return ticket

    def queue(self, run: Run) -> None:
        """Give the run a turn soon."""
        if not run.queued and not self.draining:
            run.queued = True
            self.ready.append(run)
            if not self.turning:
                self.wake()

    # ------------------------------------------------------------ timers of a run

    def arm_timer(self, run: Run, position: int, due_us: int) -> None:
        """Arm the timer of an operation, replacing the one it has."""
        self.disarm_timer(run, position)
        key = TimerKey(due_us, run.shard, run.workflow_id, run.ordinal, position)
        run.timers[position] = key
        self.timers.add(key)

    def disarm_timer(self, run: Run, position: int) -> None:
        """Disarm the timer of an operation, if it has one."""
        key = run.timers.pop(position, None)
        if key is not None:
            self.timers.cancel(key)

    # ------------------------------------------------------------ losing the code of a run

    def unload(self, run: Run) -> None:
        """Take the code of a run out of memory. Nothing is recorded, no effect of it runs."""
        program, run.program = run.program, None
        if program is not None:
            refused = program.evict()
            if refused:
                self.unwilling.extend(f"{run.key} {name}" for name in refused)
        for position in list(run.timers):
            self.disarm_timer(run, position)
        clear_inbox(self, run)
        run.signals = None
        run.attempts = {}
        messages.take_back(run)
        run.finishing = False

    def reload(self, run: Run) -> None:
        """Take the code of a run out of memory and bring it back by replay."""
        keep_arrived(self, run)
        self.unload(run)
        self.queue(run)

    def hold(self, run: Run, held: Held) -> None:
        """The run cannot move. It is not failed, and uses no CPU until something changes."""
        keep_arrived(self, run)
        run.held = held
        self.unload(run)
        waiting, run.queries = run.queries, []
        for _, _, reply in waiting:
            self.gate.when(run.last_ticket, reply, RunHeld(held.text, held.reason))

    def hold_for(self, run: Run, error: CodeError | PayloadError) -> None:
        """Hold a run for an error of its code or its journal."""
        if isinstance(error, NonDeterminism):
            reason = "nondeterminism"
        else:
            reason = "decode" if isinstance(error, PayloadError) else "journal-full"
        self.hold(run, Held(reason, str(error)))
