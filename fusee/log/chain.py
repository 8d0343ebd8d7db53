"""Following the chain of frames: does what lies here continue it?

The fast half of the scan, and all of a later read. It says yes or no; why not is the
business of `fusee.log.damage`, which may take its time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fusee.base.errors import DirectoryRefused
from fusee.base.limits import BLOCK_SIZE
from fusee.log.batch import BadBatch, Batch, decode_batch
from fusee.log.frame import (
    BadFrame,
    Envelope,
    FrameKind,
    decode_envelope,
    expected_tags,
    frame_bytes,
    join_body,
    split_units,
)
from fusee.log.segment import DATA_START
from fusee.log.superblock import LogBase
from fusee.log.tags import BLOCK

if TYPE_CHECKING:
    from fusee.log.superblock import Superblock
    from fusee.log.window import Window


class Chain:
    """The last accepted frame and batch, which the next ones must continue.

    Physically by `prev_local`, `local_seq` and `boot_count` (S-2), canonically by `hash`.
    """

    __slots__ = (
        "boot_count",
        "boot_count_max",
        "group_id",
        "hash",
        "local_seq",
        "log_view",
        "op",
        "prev_local",
        "ts_us",
        "view",
        "witnessed_op",
    )

    def __init__(self, base: LogBase, superblock: Superblock, boot_count: int = 0) -> None:
        self.op = base.op
        self.hash = base.hash
        self.view = 0
        self.ts_us = 0
        self.local_seq = base.local_seq
        self.prev_local = base.prev_local
        self.boot_count = boot_count
        self.witnessed_op = 0
        self.boot_count_max = superblock.boot_count
        self.log_view = superblock.log_view
        self.group_id = superblock.group_id

    def is_continued_by(self, envelope: Envelope) -> bool:
        """Whether the frame was written next after the last accepted one.

        Within one boot local_seq is dense; a later boot starts above everything before it.
        """
        if envelope.prev_local != self.prev_local or envelope.boot_count > self.boot_count_max:
            return False
        if envelope.boot_count == self.boot_count:
            return envelope.local_seq == self.local_seq + 1
        return envelope.boot_count > self.boot_count and envelope.local_seq > self.local_seq

    def accept(self, envelope: Envelope, batch: Batch | None) -> None:
        """Move on to a frame that continues the chain."""
        if batch is not None:
            self.op = batch.op
            self.hash = batch.hash
            self.view = batch.view
            self.ts_us = batch.ts_us
        self.local_seq = envelope.local_seq
        self.prev_local = envelope.hash
        self.boot_count = envelope.boot_count
        self.witnessed_op = envelope.durable_op


class Frame(msgspec.Struct, frozen=True, gc=False):
    """A frame that continues the chain; a seal has no batch."""

    envelope: Envelope
    batch: Batch | None
    size_bytes: int


def next_frame(window: Window, offset: int, chain: Chain) -> Frame | None:
    """Return the frame at `offset` if it is whole and continues the chain, else None."""
    if offset + BLOCK_SIZE > window.size_bytes:
        return None
    units = BLOCK.unpack_from(window.get(offset, BLOCK_SIZE))
    try:
        envelope = decode_envelope(units[0])
    except BadFrame:
        return None
    size_bytes = frame_bytes(envelope.body_bytes)
    if not chain.is_continued_by(envelope) or offset + size_bytes > window.size_bytes:
        return None
    if size_bytes == BLOCK_SIZE:
        contents, tags = list(units[::2]), list(units[1::2])
    else:
        contents, tags = split_units(window.get(offset, size_bytes))
    block_count = size_bytes // BLOCK_SIZE
    if tags != expected_tags(offset, block_count, envelope.local_seq, window.file_key):
        return None
    if envelope.kind == FrameKind.BATCH:
        batch = _body(envelope, join_body(contents, envelope.body_bytes), chain)
        if batch is None:
            return None
    else:
        batch = None
        if envelope.kind != FrameKind.SEAL or envelope.op != chain.op or envelope.body_bytes:
            return None
    if envelope.accept_view > chain.log_view:
        raise _superblock_regressed(window, offset, envelope, chain)
    return Frame(envelope, batch, size_bytes)


def _body(envelope: Envelope, body: bytes, chain: Chain) -> Batch | None:
    try:
        batch = decode_batch(body)
    except BadBatch:
        return None
    if (
        batch.hash != envelope.body_hash
        or batch.op != envelope.op
        or batch.op != chain.op + 1
        or batch.prev != chain.hash
        or batch.group_id != chain.group_id
    ):
        return None
    return batch


def _superblock_regressed(
    window: Window, offset: int, envelope: Envelope, chain: Chain
) -> DirectoryRefused:
    """Case 8: the only witness a disk has of a superblock that went back in time (S-5)."""
    return DirectoryRefused(
        f"{window.file}, byte {offset}, op {envelope.op}: case 8: written in view"
        f" {envelope.accept_view}, but the superblock knows only view {chain.log_view}. The"
        " superblock is older than the log. Restore this directory from a backup, or replace"
        " the replica."
    )


class Walk:
    """A way along the chain, frame by frame and from segment to segment."""

    def __init__(self, chain: Chain, windows: list[Window], offset: int, index: int = 0) -> None:
        self.chain = chain
        self.windows = windows
        self.index = index
        self.offset = offset
        """Where the next frame may start, in segment `windows[index]`."""

    @property
    def window(self) -> Window:
        """The segment the walk is in."""
        return self.windows[self.index]

    def base(self) -> LogBase:
        """Return the state of the log just before `offset`."""
        chain = self.chain
        return LogBase(
            self.window.header.number,
            self.offset,
            chain.op,
            chain.hash,
            chain.local_seq,
            chain.prev_local,
        )

    def peek(self) -> Frame | None:
        """Return the next frame, having moved to the segment it lies in; None at the end.

        The next segment is tried whatever lies here: a frame that was torn here may have been
        followed by one that no longer fitted, and the chain decides.
        """
        frame = next_frame(self.window, self.offset, self.chain)
        if frame is None and self.index + 1 < len(self.windows):
            frame = next_frame(self.windows[self.index + 1], DATA_START, self.chain)
            if frame is not None:
                self.index += 1
                self.offset = DATA_START
        return frame

    def advance(self, frame: Frame) -> None:
        """Step over the frame that `peek` returned."""
        self.chain.accept(frame.envelope, frame.batch)
        self.offset += frame.size_bytes
