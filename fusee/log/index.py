"""Where in the log an op lies: a sparse index in memory, and reading from it.

One mark every 64 KiB of log, made while writing or scanning. A mark holds the whole state of
the chain, because a reader must follow the chain as strictly as recovery does: behind the
last frame of a segment there may lie a whole frame of a boot that crashed.
"""

from __future__ import annotations

import errno
from bisect import bisect_right
from typing import TYPE_CHECKING, Final

import msgspec

from fusee.base.errors import AcknowledgedDataLost
from fusee.base.limits import BLOCK_SIZE, KIB
from fusee.log.chain import Chain, Frame, Walk
from fusee.log.segment import SegmentHeader
from fusee.log.superblock import LogBase
from fusee.log.window import READ_BYTES, Window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fusee.log.batch import Batch
    from fusee.log.superblock import Superblock
    from fusee.log.window import Read

MARK_DISTANCE_BYTES: Final = 64 * KIB
_READ_BYTES_MIN: Final = 2 * MARK_DISTANCE_BYTES


class SegmentStart(msgspec.Struct, frozen=True):
    """A segment in use, and the state of the log just before its first frame."""

    header: SegmentHeader
    base: LogBase


class Mark(msgspec.Struct, frozen=True, gc=False):
    """The state of the log just before a frame."""

    base: LogBase
    boot_count: int


class LogIndex:
    """Marks in order of op."""

    def __init__(self) -> None:
        self._ops: list[int] = []
        self._marks: list[Mark] = []
        self._segment = 0
        self._due_offset = 0

    def is_due(self, segment: int, offset: int) -> bool:
        """Whether a frame at this place deserves a mark."""
        return offset >= self._due_offset or segment != self._segment

    def add(self, mark: Mark) -> None:
        """Take a mark, at or behind the last one."""
        assert not self._ops or mark.base.op >= self._ops[-1]
        self._ops.append(mark.base.op)
        self._marks.append(mark)
        self._segment = mark.base.segment
        self._due_offset = mark.base.offset + MARK_DISTANCE_BYTES

    def find(self, op: int) -> Mark | None:
        """Return the last mark before batch `op`, None if the log begins behind it."""
        place = bisect_right(self._ops, op - 1)
        return self._marks[place - 1] if place else None

    def drop_before(self, segment: int) -> None:
        """Forget the marks of segments that are gone."""
        keep = 0
        while keep < len(self._marks) and self._marks[keep].base.segment < segment:
            keep += 1
        del self._ops[:keep], self._marks[:keep]


def read_batches(
    read: Read,
    starts: Sequence[SegmentStart],
    mark: Mark,
    superblock: Superblock,
    *,
    from_op: int,
    to_op: int,
    bytes_max: int,
) -> list[Batch]:
    """Return batches `from_op` to `to_op`, at most `bytes_max` of them but never none.

    All of them are durable. One that is not there is looked for again, so that an error of the
    disk (OSError) is not taken for loss (`AcknowledgedDataLost`).
    """
    assert mark.base.op < from_op <= to_op
    piece = min(READ_BYTES, max(_READ_BYTES_MIN, bytes_max // BLOCK_SIZE * BLOCK_SIZE))
    windows = [
        Window(read, start.header, piece)
        for start in starts
        if start.header.number >= mark.base.segment
    ]
    walk = Walk(Chain(mark.base, superblock, mark.boot_count), windows, mark.base.offset)
    found: list[Batch] = []
    found_bytes = 0
    while walk.chain.op < to_op:
        frame = walk.peek()
        if frame is None:
            frame = _look_again(read, walk)
        walk.advance(frame)
        batch = frame.batch
        if batch is None or batch.op < from_op:
            continue
        found_bytes += len(batch.data)
        if found and found_bytes > bytes_max:
            break
        found.append(batch)
    return found


class _Look:
    """Reads for one look at one place, remembering what came."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self.pieces: list[bytes] = []
        self.error: OSError | None = None

    def read(self, file: str, offset: int, size: int) -> bytes:
        try:
            piece = self._read(file, offset, size)
        except FileNotFoundError:
            raise  # The file is gone, which is no error of the disk.
        except OSError as error:
            if size == BLOCK_SIZE:
                self.error = error
            raise
        self.pieces.append(piece)
        return piece


def _look_again(read: Read, walk: Walk) -> Frame:
    """Return the frame that the walk did not find, if it is found now.

    Raises `AcknowledgedDataLost` if it is not there, and OSError while that is not certain: the
    disk reported an error, or bytes change from one look to the next.
    """
    file = walk.window.file
    place = f"{file}, byte {walk.offset}, op {walk.chain.op + 1}"
    advice = "That proves no loss: see to the disk and its connection, and read again."
    seen: list[list[bytes]] = []
    for _ in range(2):
        look = _Look(read)
        # In pieces of a block, so that nothing is read but what the frame needs.
        windows = [Window(look.read, window.header, BLOCK_SIZE) for window in walk.windows]
        again = Walk(walk.chain, windows, walk.offset, walk.index)
        frame = again.peek()
        if frame is not None:
            walk.index, walk.offset = again.index, again.offset
            return frame
        if look.error is not None:
            why = look.error.strerror or str(look.error)
            text = f"{place}: a durable batch cannot be read now: {why}. {advice}"
            raise OSError(look.error.errno or errno.EIO, text, file) from look.error
        seen.append(look.pieces)
    if seen[0] != seen[1]:
        text = f"{place}: the disk returned other bytes when it was read again. {advice}"
        raise OSError(errno.EIO, text, file)
    raise AcknowledgedDataLost(f"{place}: a durable batch cannot be read back", [place])
