"""What one directory was given to keep: every frame, superblock and segment header, as handed over.

Fed by a device, before any fault has its way. It is the ground truth of the other checkers:
whether a place holds what was written there is a comparison of bytes, and needs no opinion
of the code that is being checked.

Only frames that are in force are kept. A recovery says how far the chain goes; what lies
behind its end is dropped (`accept`), and so are frames of a segment that becomes a spare.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Final

from fusee.base.limits import BLOCK_SIZE, UNIT_SIZE
from fusee.log import superblock as sb
from fusee.log.frame import ENVELOPE_SIZE, Envelope, FrameKind, decode_envelope
from fusee.log.segment import DATA_START, decode_header, segment_number, spare_number
from fusee.log.tags import TAG_SIZE, UNIT_CONTENT
from fusee.testing.disk import units_of

if TYPE_CHECKING:
    from fusee.log.superblock import Stored
    from fusee.testing.device import InFlight
    from fusee.testing.disk import File

_REMAINS_MAX: Final = 50
HEADER_BYTES: Final = 96
"""What counts of a segment header's block; the rest is padding."""


class FrameWritten:
    """One frame as it was handed to the disk."""

    __slots__ = ("before", "data", "done_op", "envelope", "file", "is_done", "offset", "segment")

    def __init__(
        self, segment: int, file: int, write: InFlight, envelope: Envelope, done_op: int
    ) -> None:
        self.segment = segment
        self.file = file
        self.offset = write.offset
        self.data = write.data
        self.before = write.before
        self.envelope = envelope
        self.done_op = done_op
        """What had been reported durable before it: what the frame has to say of that."""
        self.is_done = False
        """Reported as durable: what it carries may have been acknowledged."""

    @property
    def batch_op(self) -> int:
        """Op of the batch it carries, 0 for a seal."""
        return self.envelope.op if self.envelope.kind == FrameKind.BATCH else 0

    def _differences(self, file: File) -> list[int]:
        """Return the units, counted in the frame, whose bytes are not those written."""
        there, mine = file.held(self.offset, len(self.data)), self.data
        if there == mine:
            return []
        return [
            place // UNIT_SIZE
            for place in range(0, len(mine), UNIT_SIZE)
            if there[place : place + UNIT_SIZE] != mine[place : place + UNIT_SIZE]
        ]

    def damaged_units(self, file: File) -> list[int]:
        """Return the units that do not read as written, as far as anything depends on them.

        The zeros behind the content are covered by no hash, and no matter.
        """
        content_bytes = ENVELOPE_SIZE + self.envelope.body_bytes
        damaged: list[int] = []
        for unit in self._differences(file):
            counted = max(0, min(UNIT_CONTENT, content_bytes - unit * UNIT_CONTENT))
            place = unit * UNIT_SIZE
            there = file.held(self.offset + place, UNIT_SIZE)
            meant = self.data[place : place + UNIT_SIZE]
            if there[:counted] != meant[:counted] or there[-TAG_SIZE:] != meant[-TAG_SIZE:]:
                damaged.append(unit)
        if file.unreadable:
            first = self.offset // UNIT_SIZE
            mine = units_of(self.offset, len(self.data))
            damaged += [unit - first for unit in sorted(file.unreadable) if unit in mine]
        return damaged

    def has_envelope(self, file: File) -> bool:
        """Whether its first unit can be read as written: enough to be a witness."""
        there = file.held(self.offset, UNIT_SIZE)
        return (
            there[:ENVELOPE_SIZE] == self.data[:ENVELOPE_SIZE]
            and there[-TAG_SIZE:] == self.data[UNIT_CONTENT:UNIT_SIZE]
            and file.can_read(self.offset, BLOCK_SIZE)
        )

    def looks_unwritten(self, file: File) -> bool:
        """Whether a unit holds what lay there before: no proof can tell that from torn."""
        return any(
            file.unit(self.offset // UNIT_SIZE + unit)
            == self.before[unit * UNIT_SIZE : (unit + 1) * UNIT_SIZE]
            for unit in self.damaged_units(file)
        )


class Written:
    """A watcher of devices that remembers what one directory was given."""

    def __init__(self) -> None:
        self.frames: list[FrameWritten] = []
        """In force, in the order of the chain; the last one may not be done."""
        self.remains: list[FrameWritten] = []
        """No longer in force, but perhaps still on the platters; the newest ones."""
        self.copies: dict[bytes, tuple[int, Stored]] = {}
        """Every block that was ever meant to be a copy of the superblock, and which."""
        self.headers: dict[int, set[bytes]] = {}
        """Number of the file -> every header that it was meant to have."""
        self.first_seqs: dict[int, int] = {}
        """Number of the file -> above which local_seq its newest life begins."""
        self.sizes: dict[int, int] = {}
        """Number of the file -> with how many bytes it was made."""
        self.sequence_max = 0
        """Of the superblocks."""
        self.seq_max = 0
        """Highest local_seq that any frame ever had, in force or not."""
        self._creating: bytes = b""
        self._open: dict[InFlight, FrameWritten] = {}

    def clone(self) -> Written:
        """Return what was written so far; later writes change only the original."""
        other = Written()
        other.frames = [copy(frame) for frame in self.frames]
        other.remains = list(self.remains)
        other.copies = dict(self.copies)
        other.first_seqs = dict(self.first_seqs)
        other.sizes = dict(self.sizes)
        other.seq_max = self.seq_max
        other.sequence_max = self.sequence_max
        other.headers = {number: set(known) for number, known in self.headers.items()}
        return other

    @property
    def done_op(self) -> int:
        """Highest op that was reported durable and is in force, 0 if none is."""
        return max((frame.batch_op for frame in self.frames if frame.is_done), default=0)

    def accept(self, last_hash: bytes) -> bool:
        """Note that a recovery accepted the chain up to one envelope, and nothing behind it.

        Says whether that frame is in force; if not, none is any more. What was in flight and
        is accepted is durable now.
        """
        self._open.clear()
        hashes = [frame.envelope.hash for frame in self.frames]
        count = hashes.index(last_hash) + 1 if last_hash in hashes else 0
        self.remains = (self.remains + self.frames[count:])[-_REMAINS_MAX:]
        del self.frames[count:]
        if count:
            self.frames[-1].is_done = True
        return count > 0

    def add_remains(self, write: InFlight) -> None:
        """Remember a frame that is put there as if a dead boot had left it."""
        number = segment_number(write.name)
        assert number is not None, write.name
        envelope = decode_envelope(write.data[:UNIT_CONTENT])
        self.remains.append(FrameWritten(number, write.file.number, write, envelope, 0))

    # ------------------------------------------------------------ Watcher

    def began(self, write: InFlight) -> None:
        """Remember a frame, a copy of the superblock or a segment header."""
        if write.name == sb.FILE:
            self._add_copy(write.data, write.offset // sb.COPY_DISTANCE)
        elif write.offset >= DATA_START:
            number = segment_number(write.name)
            assert number is not None, write.name
            envelope = decode_envelope(write.data[:UNIT_CONTENT])
            frame = FrameWritten(number, write.file.number, write, envelope, self.done_op)
            self.seq_max = max(self.seq_max, envelope.local_seq)
            self.frames.append(frame)
            self._open[write] = frame
        else:
            self._add_header(write.file.number, write.data)

    def _add_copy(self, data: bytes, copy_index: int) -> None:
        if data not in self.copies:
            stored = sb.decode_copy(data, copy_index)
            assert not isinstance(stored, sb.SuperblockFault), stored
            self.copies[data] = (copy_index, stored)
            self.sequence_max = max(self.sequence_max, stored.sequence)

    def _add_header(self, number: int, data: bytes) -> None:
        self.headers.setdefault(number, set()).add(bytes(data[:HEADER_BYTES]))
        self.first_seqs[number] = decode_header(data).first_seq

    def completed(self, write: InFlight) -> None:
        """A write is reported as durable."""
        frame = self._open.pop(write, None)
        if frame is not None:
            frame.is_done = True

    def creating(self, name: str, content: bytes) -> None:
        """Remember the superblocks of a new directory, or the header of a new segment."""
        self._creating = content[:HEADER_BYTES]
        if name == sb.FILE:
            for index in range(sb.COPY_COUNT):
                start = sb.copy_offset(index)
                self._add_copy(content[start : start + BLOCK_SIZE], index)

    def created(self, name: str, file: File) -> None:
        """Remember which file got the header."""
        if name != sb.FILE:
            self._add_header(file.number, self._creating)
        self.sizes[file.number] = len(file.image)

    def renaming(self, old: str, new: str, file: File) -> None:
        """Forget the frames of a segment that becomes a spare: the base has passed them."""
        if spare_number(new) is not None:
            self.remains = [frame for frame in self.remains if frame.file != file.number]
            self.frames = [frame for frame in self.frames if frame.file != file.number]
