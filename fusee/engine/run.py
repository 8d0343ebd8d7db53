"""One run in memory, open or just closed, and the compact row that is kept of a finished one."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import msgspec

from fusee.base.ids import Ordinal, ShardId, Ticket
from fusee.engine.timers import TimerKey
from fusee.record.group import (
    decode_journal,
    decode_records,
    encode_journal,
    first_and_last,
    group_head,
)
from fusee.record.kinds import AnyRecord, Closed, SignalReceived, Started, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fusee.engine.program import Arrival, PendingOp, Program
    from fusee.record.kinds import AttemptFailed


class Held(msgspec.Struct, frozen=True):
    """Why a run cannot move: a word for machines, a text for people."""

    reason: str
    text: str


class Finished(msgspec.Struct, frozen=True, gc=False):
    """What memory keeps of a finished run: its journal as bytes, and how it ended."""

    workflow_id: str
    ordinal: Ordinal
    workflow: str
    closed_status: Status
    journal: bytes

    def facts(self) -> Started:
        """Return the record that began the run."""
        record = decode_records(first_and_last(self.journal)[0])[0]
        assert isinstance(record, Started)
        return record

    def closed(self) -> Closed:
        """Return the record that ended the run."""
        record = decode_records(first_and_last(self.journal)[1])[-1]
        assert isinstance(record, Closed)
        return record


class Signals:
    """Signals of one run: what arrived, what is unread by name, who waits for which."""

    __slots__ = ("count", "ids", "received", "unread", "waiting")

    def __init__(self) -> None:
        self.count = 0
        self.ids: dict[str, bytes] = {}
        self.received: dict[int, SignalReceived] = {}
        self.unread: dict[str, deque[SignalReceived]] = {}
        self.waiting: dict[str, deque[PendingOp]] = {}

    def add(self, record: SignalReceived, *, unread: bool = True) -> None:
        """A signal was recorded."""
        self.count = record.number
        self.ids[record.signal_id] = record.payload
        self.received[record.number] = record
        if unread:
            self.unread.setdefault(record.name, deque()).append(record)

    def take_back(self, record: SignalReceived) -> None:
        """The newest signal was not recorded after all: the turn that sent it is not."""
        assert record.number == self.count, "only the newest signal can be taken back"
        self.count -= 1
        del self.ids[record.signal_id], self.received[record.number]
        self.unread[record.name].remove(record)

    def unread_count(self) -> int:
        """How many signals no wait has consumed."""
        return sum(len(queue) for queue in self.unread.values())

    def oldest_waiter(self, name: str, pending: Mapping[int, PendingOp]) -> PendingOp | None:
        """Return who gets the next signal of this name, dropping waiters that wait no more."""
        queue = self.waiting.get(name)
        while queue:
            if pending.get(queue[0].position) is queue[0]:
                return queue[0]
            queue.popleft()
        return None


class Run:
    """One run in memory. `groups` are its encoded records, one item a turn."""

    __slots__ = (
        "attempts",
        "blocked_turns",
        "closed_status",
        "finishing",
        "groups",
        "head",
        "held",
        "in_flight",
        "inbox",
        "last_ticket",
        "on_closed",
        "ordinal",
        "outbox",
        "program",
        "queries",
        "queued",
        "shard",
        "signals",
        "started",
        "timers",
        "viewing",
        "workflow_id",
    )

    def __init__(
        self, workflow_id: str, ordinal: Ordinal, shard: ShardId, started: Started | None
    ) -> None:
        self.workflow_id = workflow_id
        self.ordinal = ordinal
        self.shard = shard
        self.started = started
        self.head = group_head(workflow_id, ordinal)
        self.groups: list[bytes | memoryview] = []
        self.last_ticket = Ticket(0)
        self.closed_status: Status | None = None
        self.program: Program | None = None
        self.held: Held | None = None
        self.queued = False
        self.viewing = False
        self.finishing = False
        self.inbox: deque[Arrival | str] = deque()
        self.signals: Signals | None = None
        self.in_flight: dict[int, object] = {}
        self.attempts: dict[int, AttemptFailed] = {}
        self.timers: dict[int, TimerKey] = {}
        self.queries: list[tuple[str, bytes, Callable[[Any], None]]] = []
        self.outbox: list[tuple[int, Run, SignalReceived]] = []
        """What the present turn sends: position of the message, receiver, its record."""
        self.on_closed: list[Callable[[Any], None]] = []
        self.blocked_turns = 0
        """How many turns of this life kept the application's loop too long."""

    @property
    def key(self) -> str:
        """The run's key: workflow id and ordinal."""
        return f"{self.workflow_id}/{self.ordinal}"

    @property
    def is_open(self) -> bool:
        """Whether the run may still move."""
        return self.closed_status is None

    def closed(self) -> Closed:
        """Return the record that ended the run, which has ended."""
        record = decode_records(self.groups[-1])[-1]
        assert isinstance(record, Closed), f"run {self.key} ends with {record!r}"
        return record

    def facts(self) -> Started:
        """Return the record that began the run, decoding it when it came from a log."""
        if self.started is None:
            record = decode_records(self.groups[0])[0]
            assert isinstance(record, Started), f"run {self.key} begins with {record!r}"
            self.started = record
        return self.started


def records_of(run: Run | Finished) -> list[list[AnyRecord]]:
    """Return all records of a run, turn by turn."""
    if isinstance(run, Finished):
        return decode_journal(run.journal)
    return decode_journal(encode_journal(run.groups))
