"""Where the next frame goes, and what the log owes its files. Decisions only.

The driver asks for a place, encodes, reports the write begun, writes, and reports it done.
Up to two writes may be in flight; only the finished ones without a gap before them are
durable (S-3). A write of a log that has been replaced since proves nothing (S-4).

A new segment is wanted long before it is needed, because filling one takes tens of
milliseconds: `plan_next` says what to do, somebody does it on any thread, `adopt` takes it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import msgspec

from fusee.base.limits import BLOCK_SIZE, WRITES_IN_FLIGHT_MAX
from fusee.log.index import LogIndex, Mark, SegmentStart
from fusee.log.segment import (
    DATA_START,
    SegmentHeader,
    SegmentSizes,
    make_header,
    next_life,
    spare_name,
)
from fusee.log.superblock import LogBase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fusee.log.ending import LogEnd
    from fusee.log.scan import LogScan
    from fusee.log.superblock import Superblock


class Preparation(msgspec.Struct, frozen=True, gc=False):
    """How the next segment comes to be.

    Without a `spare` the file is created and filled. A spare gets a new header block and is
    renamed; with `is_refilled` it is too small or unreadable, so it is written anew first.
    """

    header: SegmentHeader
    spare: str = ""
    is_refilled: bool = False

    @property
    def needed_bytes(self) -> int:
        """Space that this takes from the file system."""
        return self.header.size_bytes if self.is_refilled or not self.spare else 0


class Trim(msgspec.Struct, frozen=True):
    """The new base of the log, and the segments before it. The base is saved first."""

    base: LogBase
    headers: tuple[SegmentHeader, ...]


class _Write:
    """A frame in flight."""

    __slots__ = ("durable_op", "is_done", "local_seq", "log_gen", "op")

    def __init__(self, op: int, durable_op: int, local_seq: int, log_gen: int) -> None:
        self.op = op
        self.durable_op = durable_op
        self.local_seq = local_seq
        self.log_gen = log_gen
        self.is_done = False


class LogWriter:
    """The writing end of a log."""

    def __init__(
        self,
        end: LogEnd,
        starts: list[SegmentStart],
        index: LogIndex,
        *,
        prepared: SegmentHeader | None,
        spares: Mapping[str, SegmentHeader | None],
        sizes: SegmentSizes,
        boot_count: int,
        first_seq: int,
        log_gen: int,
    ) -> None:
        assert starts[-1].header.number == end.write_segment
        assert first_seq > end.local_seq
        self.boot_count = boot_count
        self.next_seq = first_seq
        self.prev_local = end.prev_local
        self.head_op = end.op
        self.head_hash = end.hash
        self.durable_op = end.op
        self.log_gen = log_gen
        self.starts = starts
        self.index = index
        self._sizes = sizes
        self._prepared = prepared
        self._planned: Preparation | None = None
        self._spares = dict(spares)
        self._pending: deque[_Write] = deque()
        self._witnessed_op = end.witnessed_op
        self._durable_seq = end.local_seq
        self._last_seq = end.local_seq
        self._last_boot = end.boot_count
        is_here = end.place.segment == end.write_segment
        self._doubt_offset = end.write_offset if is_here and not end.is_certain else None
        self._enter(starts[-1].header, end.write_offset)

    def _enter(self, header: SegmentHeader, offset: int) -> None:
        self.file = header.file
        self.file_key = header.file_key
        self.offset = offset
        self.size_bytes = header.size_bytes
        self._segment = header.number
        self._due_offset = DATA_START + (header.size_bytes - DATA_START) // 4

    # ------------------------------------------------------------ frames

    @property
    def in_flight_count(self) -> int:
        """Frames handed to the disk and not finished."""
        return len(self._pending)

    @property
    def wants_seal(self) -> bool:
        """Whether something is durable that no later frame witnesses yet (S-7)."""
        return not self._pending and self.durable_op > self._witnessed_op

    def has_room(self, size_bytes: int) -> bool:
        """Whether a frame of this size still fits into the segment."""
        return self.offset + size_bytes <= self.size_bytes

    @property
    def leaves_doubt(self) -> bool:
        """Whether entering the next segment would leave the place behind that was in doubt.

        What lies there was given up, but it may be whole on another day, and would be read in
        front of what the log has instead. So a seal covers it first (S-13).
        """
        return self.offset == self._doubt_offset and self.has_room(BLOCK_SIZE)

    @property
    def is_prepared(self) -> bool:
        """Whether the next segment is there to be entered."""
        return self._prepared is not None

    @property
    def is_preparing(self) -> bool:
        """Whether the next segment is being made."""
        return self._planned is not None

    def roll(self) -> None:
        """Enter the next segment. The rest of this one keeps what it holds."""
        header = self._prepared
        assert header is not None, "next segment not prepared"
        self._prepared = None
        base = self._base(header.number, DATA_START)
        self.starts.append(SegmentStart(header, base))
        self._enter(header, DATA_START)

    def _base(self, segment: int, offset: int) -> LogBase:
        return LogBase(
            segment, offset, self.head_op, self.head_hash, self._last_seq, self.prev_local
        )

    def begin(
        self,
        envelope_hash: bytes,
        size_bytes: int,
        durable_op: int,
        op: int,
        batch_hash: bytes | None,
    ) -> int:
        """Note a frame as in flight at `offset`, and return its local_seq.

        It carries batch `op`; `batch_hash` is None for a seal, which names the head.
        """
        offset = self.offset
        assert len(self._pending) < WRITES_IN_FLIGHT_MAX
        assert durable_op <= self.durable_op
        assert offset + size_bytes <= self.size_bytes
        if self.index.is_due(self._segment, offset):
            self._mark()
        if batch_hash is None:
            assert op == self.head_op
        else:
            assert op == self.head_op + 1
            self.head_op = op
            self.head_hash = batch_hash
        local_seq = self.next_seq
        self._pending.append(_Write(op, durable_op, local_seq, self.log_gen))
        self.next_seq = local_seq + 1
        self.prev_local = envelope_hash
        self.offset = offset + size_bytes
        self._last_seq = local_seq
        self._last_boot = self.boot_count
        return local_seq

    def _mark(self) -> None:
        self.index.add(Mark(self._base(self._segment, self.offset), self._last_boot))

    def finish(self, local_seq: int) -> int:
        """Note the frame as written and return `durable_op`, which it may have moved."""
        pending = self._pending
        if pending[0].local_seq == local_seq:
            pending[0].is_done = True
        else:
            for write in pending:
                if write.local_seq == local_seq:
                    write.is_done = True
        while pending and pending[0].is_done:
            write = pending.popleft()
            self._durable_seq = write.local_seq
            if write.log_gen == self.log_gen:
                self.durable_op = write.op
                self._witnessed_op = write.durable_op
        return self.durable_op

    # ------------------------------------------------------------ segments

    def plan_next(self, *, is_needed: bool = False) -> Preparation | None:
        """Say how to make the next segment, None if it is not due, there, or being made.

        Due from a quarter of the current one, so that a log that stays small never pays.
        """
        if self._prepared is not None or self._planned is not None:
            return None
        if not is_needed and self.offset < self._due_offset:
            return None
        self._planned = self._plan()
        return self._planned

    def _plan(self) -> Preparation:
        current = self.starts[-1].header
        number = current.number + 1
        size_bytes = self._sizes.of(number)
        fresh = make_header(
            number=number,
            size_bytes=size_bytes,
            first_seq=self.next_seq,
            group_id=current.group_id,
            incarnation=current.incarnation,
        )
        for spare, header in self._spares.items():
            if header is not None and header.size_bytes == size_bytes:
                life = next_life(header, number=number, first_seq=self.next_seq)
                return Preparation(life, spare)
        for spare in self._spares:
            return Preparation(fresh, spare, is_refilled=True)
        return Preparation(fresh)

    def adopt(self, preparation: Preparation) -> None:
        """Take a segment that has been made."""
        assert preparation is self._planned
        self._planned = None
        self._spares.pop(preparation.spare, None)
        self._prepared = preparation.header

    def abandon(self, preparation: Preparation) -> None:
        """Forget a plan that was not carried out at all."""
        assert preparation is self._planned
        self._planned = None

    def plan_trim(self, before_op: int) -> Trim | None:
        """Say which whole segments hold only batches below `before_op`, None if none does."""
        keep = 0
        while keep + 1 < len(self.starts):
            base = self.starts[keep + 1].base
            if base.op >= before_op or base.local_seq > self._durable_seq:
                break
            keep += 1
        if keep == 0:
            return None
        headers = tuple(start.header for start in self.starts[:keep])
        return Trim(self.starts[keep].base, headers)

    def trim(self, trim: Trim) -> None:
        """Forget the segments of a trim that has been carried out; they are spares now."""
        del self.starts[: len(trim.headers)]
        self.index.drop_before(trim.base.segment)
        for header in trim.headers:
            self._spares[spare_name(header.number)] = header


def writer_behind(
    scan: LogScan,
    spares: Mapping[str, SegmentHeader | None],
    booted: Superblock,
    sizes: SegmentSizes,
) -> LogWriter:
    """Return the writer that goes on where a scan ended."""
    return LogWriter(
        scan.end,
        scan.starts,
        scan.index,
        prepared=scan.prepared,
        spares=spares,
        sizes=sizes,
        boot_count=booted.boot_count,
        first_seq=booted.seq_floor,
        log_gen=booted.log_gen,
    )
