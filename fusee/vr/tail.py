"""The end of a log in memory: which batch each op is, and in what condition.

Everything a view change or a late backup may ask for at once. What lies at or below `base`
is decided and durable or known to be damaged, and is read from the disk by the driver.

    base | entry entry entry ... head
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fusee.log.superblock import BatchId
from fusee.vr.messages import NOTHING, Held, Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fusee.log.batch import Batch


class Entry(msgspec.Struct, gc=False):
    """One op. `batch` is None where the body is damaged or no longer kept in memory."""

    op: int
    hash: bytes
    prev: bytes
    place: Place
    batch: Batch | None

    def held(self) -> Held:
        """Return what a message says of this op."""
        return Held(self.op, self.hash, self.prev, self.place)


def entry_of(batch: Batch, place: Place) -> Entry:
    """Return the entry of a batch whose body is at hand."""
    return Entry(batch.op, batch.hash, batch.prev, place, batch)


class LogTail:
    """The entries above `base`, dense and chained."""

    __slots__ = ("_entries", "base")

    def __init__(self, base: BatchId = NOTHING, entries: Sequence[Entry] = ()) -> None:
        self.base = base
        self._entries = list(entries)
        self.check()

    @property
    def head(self) -> BatchId:
        """Identity of the last batch."""
        if not self._entries:
            return self.base
        last = self._entries[-1]
        return BatchId(last.op, last.hash)

    @property
    def head_op(self) -> int:
        """Op of the last batch."""
        return self.base.op + len(self._entries)

    def get(self, op: int) -> Entry | None:
        """Return the entry of an op above the base, None for others."""
        index = op - self.base.op - 1
        return self._entries[index] if 0 <= index < len(self._entries) else None

    def hash_at(self, op: int) -> bytes | None:
        """Return the hash at an op; None where this log says nothing, or no longer."""
        if op == self.base.op:
            return self.base.hash
        entry = self.get(op)
        return entry.hash if entry else None

    def id_at(self, op: int) -> BatchId:
        """Return the identity at an op between base and head."""
        found = self.hash_at(op)
        assert found is not None, "an op that this tail does not reach"
        return BatchId(op, found)

    def holds(self, batch: BatchId) -> bool:
        """Whether the log is known to hold this very batch, in whatever condition."""
        return self.hash_at(batch.op) == batch.hash

    def after(self, op: int) -> list[Entry]:
        """Return the entries above an op that is not below the base."""
        assert op >= self.base.op, "an op that this tail does not reach"
        return self._entries[op - self.base.op :]

    def append(self, entry: Entry) -> None:
        """Add the next op."""
        assert entry.op == self.head_op + 1, "ops are dense"
        assert entry.prev == self.head.hash, "the chain of hashes is broken"
        self._entries.append(entry)

    def replace_after(self, op: int, entries: Sequence[Entry]) -> None:
        """Put other entries behind an op: what an install bracket does on disk (I-1)."""
        del self._entries[op - self.base.op :]
        self._entries += entries
        self.check()

    def first_not_durable(self, above_op: int) -> int:
        """Return the first op above `above_op` whose body is not durable, head + 1 if none."""
        op = above_op + 1
        while (entry := self.get(op)) is not None and entry.place is Place.DURABLE:
            op += 1
        return op

    def first_in_memory(self) -> int:
        """Return the first op that no disk of this replica holds in any condition."""
        for entry in self._entries:
            if entry.place is Place.MEMORY:
                return entry.op
        return self.head_op + 1

    def damaged(self) -> Iterator[Entry]:
        """Yield the entries whose body is damaged."""
        return (entry for entry in self._entries if entry.place is Place.DAMAGED)

    def forget(self, op: int) -> None:
        """Let the tail begin behind `op`; the driver reads what lies before from the disk.

        Damaged entries are kept: nobody else remembers what is to be repaired.
        """
        kept = next((entry.op - 1 for entry in self.damaged()), op)
        op = min(op, kept, self.head_op)
        if op > self.base.op:
            base = self.id_at(op)
            del self._entries[: op - self.base.op]
            self.base = base

    def check(self) -> None:
        """Assert that ops are dense and every known link holds (J8)."""
        before = self.base
        for entry in self._entries:
            assert entry.op == before.op + 1, "ops are dense"
            assert not entry.prev or entry.prev == before.hash, "the chain of hashes is broken"
            before = BatchId(entry.op, entry.hash)
