"""The recoverability oracle: what must the next opening of this directory say?

Decided from what was written and what the platters hold now, byte for byte, without asking
the code that opens. `forecast` is asked before the opening; `fusee.testing.checkers.reopened`
compares.

    must_refuse     opening would lose, or put at risk, what was acknowledged
    may_refuse      something is damaged of which the product cannot know whether it matters
    neither         it must open

The rules of one disk alone (docs/internals/log.md): k is the first
batch of the chain that is not there whole.

    a later whole envelope, or the superblock, says that k was durable   -> must refuse
    otherwise the log may end before k, and if k was acknowledged that is said loudly
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fusee.base.limits import BLOCK_SIZE, UNIT_SIZE
from fusee.log import superblock as sb
from fusee.log.boot import SEQ_GAP
from fusee.log.segment import HEADER_COPIES, segment_number, spare_number
from fusee.testing.checkers.written import HEADER_BYTES

if TYPE_CHECKING:
    from fusee.log.superblock import LogBase, Stored, Superblock
    from fusee.testing.checkers.written import FrameWritten, Written
    from fusee.testing.disk import Disk, File


@dataclass(frozen=True, slots=True)
class Forecast:
    """What an opening may say. Empty strings stand for "no reason"."""

    must_refuse: str = ""
    may_refuse: str = ""
    op_min: int = 0
    """The head is not before this op."""
    dropped_to: int = 0
    """Up to here batches were acknowledged that may be dropped, if that is said loudly."""
    may_drop_silently: bool = False
    """The disk lied about the last frame: it looks as if it had never been written."""
    must_be_certain: bool = False
    """Nothing is damaged, so nothing is in doubt."""
    stored: Stored | None = None


def forecast(disk: Disk, written: Written) -> Forecast:
    """Return what opening this disk must and may say."""
    stored, doubt = _superblock(disk, written)
    if stored is None:
        return Forecast(must_refuse=doubt)
    files, refusal = _segments(disk, stored)
    if refusal:
        return Forecast(must_refuse=refusal, stored=stored)
    must, may = _headers(files, written)
    if must:
        return Forecast(must_refuse=must, stored=stored)
    may = may or doubt or _spares(disk, written, stored)
    frames = [frame for frame in written.frames if frame.segment in files]
    base = stored.superblock.base.segment
    for frame in written.frames:
        if frame.is_done and frame.segment >= base and frame.segment not in files:
            return Forecast(must_refuse=f"segment {frame.segment} is gone, and it held frames")
    remains = [frame for frame in written.remains if frame.segment in files]
    return _chain(files, frames, remains, stored, may, is_sound=not disk.has_damage())


# ---------------------------------------------------------------- superblock


def copies_held(disk: Disk, written: Written, sequence: int) -> int:
    """Return how many sound copies of one update the platters hold."""
    return sum(stored.sequence == sequence for stored in _sound_copies(disk, written))


def _sound_copies(disk: Disk, written: Written) -> list[Stored]:
    file = disk.names.get(sb.FILE)
    sound: list[Stored] = []
    if file is None:
        return sound
    for index in range(sb.COPY_COUNT):
        offset = sb.copy_offset(index)
        meant_for, stored = written.copies.get(file.held(offset, BLOCK_SIZE), (-1, None))
        # A copy that landed in another's place is no copy.
        if stored is not None and meant_for == index and file.can_read(offset, BLOCK_SIZE):
            sound.append(stored)
    return sound


def _superblock(disk: Disk, written: Written) -> tuple[Stored | None, str]:
    """Return the superblock that an opening must use, and why it may not, or why there is none."""
    if sb.FILE not in disk.names:
        return None, "the superblock is gone"
    sound = _sound_copies(disk, written)
    checksums = [stored.checksum for stored in sound]
    agreed = [stored for stored in sound if checksums.count(stored.checksum) >= sb.OPEN_QUORUM]
    if not agreed:
        return None, "no two copies of the superblock agree"
    newest = max(agreed, key=lambda stored: stored.sequence)
    if any(stored.sequence > newest.sequence + 1 for stored in sound):
        return None, "a copy of the superblock is newer than the ones that agree"
    for stored in sound:
        line = (stored, newest) if stored.sequence > newest.sequence else (newest, stored)
        step = line[0].sequence - line[1].sequence
        if (step == 0 and stored != newest) or (step == 1 and line[0].parent != line[1].checksum):
            return newest, "copies of the superblock are of different lines of updates"
    return newest, ""


# ---------------------------------------------------------------- segments


def _segments(disk: Disk, stored: Stored) -> tuple[dict[int, File], str]:
    """Return the segments from the base on, or why one is missing."""
    base = stored.superblock.base.segment
    files = {
        number: file
        for name, file in disk.names.items()
        if (number := segment_number(name)) is not None and number >= base
    }
    if not files and stored.superblock.boot_count == 0:
        return files, ""  # A format that a crash cut short; it is finished by the opening.
    newest = max([base, stored.superblock.segment_max, *files])
    for number in range(base, newest + 1):
        if number not in files:
            return files, f"segment {number} is gone"
    return files, ""


def _headers(files: dict[int, File], written: Written) -> tuple[str, str]:
    """Return why the headers of segments must, and why they may, keep the log shut."""
    may = ""
    for number, file in files.items():
        known = written.headers.get(file.number)
        if known is None:
            return f"segment {number} is a file of another directory", ""
        sound = [
            block
            for block in range(HEADER_COPIES)
            if file.held(block * BLOCK_SIZE, HEADER_BYTES) in known
            and file.can_read(block * BLOCK_SIZE, BLOCK_SIZE)
        ]
        mine = [frame for frame in written.frames if frame.segment == number and frame.is_done]
        if sound and len(file.image) == written.sizes[file.number]:
            continue
        what = "both headers" if not sound else "the end"
        if mine and (not sound or mine[-1].offset + len(mine[-1].data) > len(file.image)):
            return f"{what} of segment {number} is damaged, and it holds frames", ""
        may = f"{what} of segment {number} is damaged"
    return "", may


def _spares(disk: Disk, written: Written, stored: Stored) -> str:
    """Say which spare was made ready in a later boot than the superblock knows."""
    newest = stored.superblock.seq_floor + SEQ_GAP
    for name, file in disk.names.items():
        if spare_number(name) is not None and written.first_seqs.get(file.number, 0) > newest:
            return f"{name} is newer than the superblock"
    return ""


# ---------------------------------------------------------------- frames


def _chain(
    files: dict[int, File],
    frames: list[FrameWritten],
    remains: list[FrameWritten],
    stored: Stored,
    may: str,
    *,
    is_sound: bool,
) -> Forecast:
    """Follow the chain to the first frame that is not there whole, and look for witnesses."""
    superblock = stored.superblock
    if _is_newer(frames, superblock, files):
        return Forecast(must_refuse="the superblock is older than the log", stored=stored)
    if _is_newer(remains, superblock, files):
        may = may or "the superblock is older than what a dead boot left"
    head = superblock.base.op
    done_op = max((frame.batch_op for frame in frames if frame.is_done), default=head)
    broken = len(frames)
    for index, frame in enumerate(frames):
        if _is_damaged(frame, files):
            broken = index
            break
        head = max(head, frame.batch_op)
    witness = _witness(frames[broken + 1 :], files, head + 1)
    if broken < len(frames) and frames[broken].is_done:
        seq = frames[broken].envelope.local_seq
        after = [frame for frame in remains if frame.envelope.local_seq > seq]
        witness = witness or _witness(after, files, head + 1)
    vouched_op = max(superblock.vouch.op, superblock.checkpoint.op)
    if vouched_op > head:
        witness = witness or f"the superblock vouches for op {vouched_op}"
    if superblock.unknown is None:
        witness = witness or _next_batch(frames[broken:], files, head + 1)
    if witness:
        return Forecast(must_refuse=f"op {head + 1} is damaged, and {witness}", stored=stored)
    return Forecast(
        # What a dead boot left says the truth of its own life; the op may have been taken since.
        may_refuse=may
        or _witness(remains, files, head + 1)
        or _left_behind(frames, broken, remains, files, superblock.base, head + 1)
        or _unreadable_behind(files, frames, broken, superblock.base),
        op_min=min(head, done_op) if broken == len(frames) else head,
        dropped_to=done_op,
        may_drop_silently=broken < len(frames) and _looks_unwritten(frames[broken], files),
        must_be_certain=is_sound,
        stored=stored,
    )


def _is_newer(frames: list[FrameWritten], superblock: Superblock, files: dict[int, File]) -> bool:
    """Whether a frame is of a boot or view that the superblock does not know."""
    return any(
        (
            frame.envelope.boot_count > superblock.boot_count
            or frame.envelope.accept_view > superblock.log_view
        )
        and frame.has_envelope(files[frame.segment])
        for frame in frames
    )


def _is_damaged(frame: FrameWritten, files: dict[int, File]) -> bool:
    file = files[frame.segment]
    return frame.file != file.number or bool(frame.damaged_units(file))


def _looks_unwritten(frame: FrameWritten, files: dict[int, File]) -> bool:
    return frame.looks_unwritten(files[frame.segment])


def _witness(later: list[FrameWritten], files: dict[int, File], op: int) -> str:
    for frame in later:
        durable_op = max(frame.envelope.durable_op, frame.done_op)
        if durable_op >= op and frame.has_envelope(files[frame.segment]):
            return f"the frame in segment {frame.segment} at {frame.offset} is a witness"
    return ""


def _next_batch(rest: list[FrameWritten], files: dict[int, File], op: int) -> str:
    """Say where the very next batch lies whole, if only damaged seals lie before it.

    If the first of them looks as if it had never been written, the disk has lied, and the log
    may end there.
    """
    if not rest or rest[0].batch_op or _looks_unwritten(rest[0], files):
        return ""
    return _whole_batch(rest, rest[0].segment, files, op)


def _left_behind(
    frames: list[FrameWritten],
    broken: int,
    remains: list[FrameWritten],
    files: dict[int, File],
    base: LogBase,
    op: int,
) -> str:
    """Say where a batch of a dead boot lies that may be taken for the next one.

    Only behind a damaged place of which nobody can tell whether a batch lay there or a seal.
    """
    segment, place = _end_of(frames[:broken], base)
    if broken < len(frames):
        frame = frames[broken]
        segment = frame.segment
        # What lay there before proves that it is older only if its tag was sound, too.
        if frame.batch_op and frame.has_envelope(files[segment]):
            return ""
    elif segment not in files or not files[segment].has_damage(place, BLOCK_SIZE):
        return ""
    return _whole_batch([*frames[broken:], *remains], segment, files, op)


def _whole_batch(frames: list[FrameWritten], segment: int, files: dict[int, File], op: int) -> str:
    for frame in frames:
        # In another segment it is not told from one that did not fit where the damage is.
        is_here = frame.segment == segment and frame.batch_op == op
        if is_here and frame.has_envelope(files[segment]):
            return f"the next batch lies whole in segment {segment} at {frame.offset}"
    return ""


def _end_of(frames: list[FrameWritten], base: LogBase) -> tuple[int, int]:
    """Return the segment and the byte where what is whole ends.

    The next frame may not have fitted there, and nobody but the writer knows.
    """
    if not frames:
        return base.segment, base.offset
    return frames[-1].segment, frames[-1].offset + len(frames[-1].data)


def _unreadable_behind(
    files: dict[int, File], frames: list[FrameWritten], broken: int, base: LogBase
) -> str:
    """Say where a unit cannot be read behind the end of what is whole."""
    segment, block = _end_of(frames[:broken], base)
    for number, file in sorted(files.items()):
        for unit in sorted(file.unreadable):
            if (number, unit * UNIT_SIZE) >= (segment, block):
                return f"unit {unit} of segment {number} cannot be read"
    return ""
