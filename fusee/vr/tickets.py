"""Tickets: groups waiting for a batch, and which op holds which ticket.

A ticket numbers one atomic group within a reign. Groups wait here until the owner of the
replica takes them for a batch; when the batch's op commits, its last ticket does. A batch
takes everything that waits, up to 1 MiB; a ticket is never split between two batches.
"""

from __future__ import annotations

from collections import deque
from itertools import count
from typing import TYPE_CHECKING, cast

from fusee.base.ids import OpNumber, ShardId, Ticket
from fusee.base.limits import BATCH_CLOSE_BYTES
from fusee.record.group import SECTION_OF_ONE, encode_section

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Tickets:
    """The groups of one reign that are not committed yet."""

    __slots__ = (
        "_numbers",
        "appended",
        "bytes_undecided",
        "bytes_waiting",
        "committed",
        "in_batches",
        "waiting",
    )

    def __init__(self) -> None:
        self.appended = Ticket(0)
        self.committed = Ticket(0)
        self.bytes_waiting = 0
        self.bytes_undecided = 0
        self.waiting: list[tuple[Ticket, ShardId, bytes]] = []
        """Groups that no batch has taken yet."""
        self.in_batches: deque[tuple[OpNumber, Ticket, int]] = deque()
        """Batches on their way to the quorum: op, last ticket, bytes of groups."""
        self._numbers = cast("Iterator[Ticket]", count(1))

    @property
    def bytes_uncommitted(self) -> int:
        """How many bytes of groups are not committed yet."""
        return self.bytes_waiting + self.bytes_undecided

    def append(self, shard: ShardId, group: bytes) -> Ticket:
        """Add one group under a ticket of its own."""
        ticket = self.appended = next(self._numbers)
        self.waiting.append((ticket, shard, group))
        self.bytes_waiting += len(group)
        return ticket

    def append_together(self, groups: Sequence[tuple[ShardId, bytes]]) -> Ticket:
        """Add groups of several shards under one ticket."""
        assert groups, "an atomic group holds something"
        ticket = self.appended = next(self._numbers)
        for shard, group in groups:
            self.waiting.append((ticket, shard, group))
            self.bytes_waiting += len(group)
        return ticket

    def take(self, op: OpNumber) -> list[tuple[ShardId, bytes]]:
        """Return the sections of the next batch, whose number is `op`, by rising shard."""
        waiting, size = self.waiting, self.bytes_waiting
        count = len(waiting)
        if count == 1:
            ticket, shard, group = waiting.pop()
            self.bytes_waiting = 0
            self.bytes_undecided += size
            self.in_batches.append((op, ticket, size))
            return [(shard, SECTION_OF_ONE + group)]
        assert count, "a batch holds something"
        if size > BATCH_CLOSE_BYTES:
            count, size = self._cut()
        self.bytes_waiting -= size
        self.bytes_undecided += size
        self.in_batches.append((op, waiting[count - 1][0], size))
        by_shard: dict[ShardId, list[bytes]] = {}
        for _, shard, group in waiting[:count]:
            by_shard.setdefault(shard, []).append(group)
        del waiting[:count]
        return [(shard, encode_section(by_shard[shard])) for shard in sorted(by_shard)]

    def _cut(self) -> tuple[int, int]:
        """Return how many groups, and bytes, fit in one batch without splitting a ticket."""
        start = size = ticket_size = 0
        previous: Ticket | None = None
        for index, (ticket, _, group) in enumerate(self.waiting):
            if ticket != previous:
                start, size, ticket_size, previous = index, size + ticket_size, 0, ticket
            ticket_size += len(group)
            if size + ticket_size > BATCH_CLOSE_BYTES and start > 0:
                return start, size
        return len(self.waiting), size + ticket_size

    def commit(self, op: OpNumber) -> Ticket:
        """Everything up to `op` is decided; return the last ticket it covers."""
        batches = self.in_batches
        while batches and batches[0][0] <= op:
            _, self.committed, size = batches.popleft()
            self.bytes_undecided -= size
        return self.committed
