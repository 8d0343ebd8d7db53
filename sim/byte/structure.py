"""What people and other builds do to a directory: files gone, mixed, cut short, later.

Each is done to a copy that is put back afterwards, as somebody restores a backup. All of them
must be refused: `tamper` returns why the oracle, which knows only damage, could not tell;
an empty reason means that it can.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from fusee.base.checksum import hash128
from fusee.base.limits import BLOCK_SIZE
from fusee.log import superblock as sb
from fusee.log.boot import SEQ_GAP
from fusee.log.segment import (
    DATA_START,
    decode_header,
    encode_header,
    next_life,
    segment_number,
    spare_number,
)
from fusee.log.superblock import BatchId
from sim.byte.foreign import foreign_segment
from sim.byte.forge import forge

if TYPE_CHECKING:
    from random import Random

    from fusee.log.superblock import Stored
    from fusee.testing.checkers.written import Written
    from fusee.testing.disk import Disk

STRUCTURES: Final = (
    *("segment-gone",) * 3,
    "segment-short",
    "segment-foreign",
    "segments-swapped",
    "superblock-gone",
    "superblock-other",
    "superblock-forked",
    "superblock-mixed",
    "superblock-regressed",
    "spare-newer",
)
"""What people do, and what comes of it."""
LATER: Final = (
    "later-frame",
    "later-batch",
    "later-segment",
    "later-superblock",
    "install-bracket",
    "regressed",
    "regressed-torn",
)
"""What a later build has left."""


def tamper(name: str, disk: Disk, written: Written, stored: Stored, random: Random) -> str | None:
    """Do one thing to a directory. Returns the reason to refuse; None if it was not possible."""
    if name == "superblock-regressed":
        return _regressed(disk, written, stored)
    if name == "spare-newer":
        return _newer_spare(disk, written, stored)
    if name.startswith("superblock"):
        return _superblock(name, disk, stored)
    if name.startswith("segment"):
        return _segments(name, disk, stored.superblock.base.segment, random)
    if name == "later-superblock":
        return _later_superblock(disk, stored)
    if name == "later-segment":
        return _later_segment(disk)
    forged = forge(name, disk, written, stored)
    if forged is None:
        return None
    file, offset, data = forged
    disk.names[file].put(offset, data)
    return f"a frame follows that this build must not take for an end ({name})"


# ---------------------------------------------------------------- files


def _segments(name: str, disk: Disk, base: int, random: Random) -> str | None:
    # What lies before the base is no longer needed, and only waits to be renamed.
    files = sorted(file for file in disk.names if (segment_number(file) or 0) >= base)
    if not files:
        return None
    victim = files[-1] if random.random() < 0.7 else random.choice(files)
    if name == "segment-gone":
        del disk.names[victim]
        return ""
    if name == "segment-short":
        size = len(disk.names[victim].image)
        disk.cut_short(victim, DATA_START + int(random.random() * (size - DATA_START)))
        return "a segment is cut short"
    if name == "segment-foreign":
        disk.add(victim, bytearray(foreign_segment(random.random() < 0.5)))
        return ""
    if len(files) < 2:
        return None
    disk.names[files[0]], disk.names[files[1]] = disk.names[files[1]], disk.names[files[0]]
    return "two segments are swapped"


# ---------------------------------------------------------------- superblock


def _superblock(name: str, disk: Disk, stored: Stored) -> str | None:
    if name == "superblock-gone":
        del disk.names[sb.FILE]
        return ""
    image = disk.names[sb.FILE]
    if name == "superblock-other":
        for copy in range(sb.COPY_COUNT):
            image.put(sb.copy_offset(copy), b"#!/bin/sh\n".ljust(BLOCK_SIZE, b"\n"))
        return ""
    if name == "superblock-forked":
        other = msgspec.structs.replace(stored.superblock, commit_hint=1 << 40)
        fork = msgspec.structs.replace(
            sb.store(other, None), sequence=stored.sequence, parent=stored.parent
        )
        checksum = hash128(_with_checksum(fork)[28:])
        fork = msgspec.structs.replace(fork, checksum=checksum)
        image.put(sb.copy_offset(3), sb.encode_copy(fork, 3))
        return "a copy of the superblock is of another line of updates"
    if stored.superblock.base.op >= stored.superblock.vouch.op or not stored.superblock.vouch.op:
        return None
    wrong = BatchId(stored.superblock.vouch.op, b"another batch...")
    mixed = sb.store(msgspec.structs.replace(stored.superblock, vouch=wrong), stored)
    for copy in range(sb.COPY_COUNT):
        image.put(sb.copy_offset(copy), sb.encode_copy(mixed, copy))
    return "the superblock names another batch than the log holds"


def _regressed(disk: Disk, written: Written, stored: Stored) -> str | None:
    """Put back the superblock of a boot before the one that wrote the last frame."""
    now = stored.superblock
    boot_count = max((f.envelope.boot_count for f in written.frames if f.is_done), default=0)
    older = [
        copy
        for _, copy in written.copies.values()
        # Another view or base would give it away, too.
        if copy.superblock.boot_count < boot_count
        and (copy.superblock.log_view, copy.superblock.base) == (now.log_view, now.base)
    ]
    if not older:
        return None
    last = max(older, key=lambda copy: copy.sequence)
    for copy in range(sb.COPY_COUNT):
        disk.names[sb.FILE].put(sb.copy_offset(copy), sb.encode_copy(last, copy))
    return "the superblock does not know the boot of the last frame"


def _newer_spare(disk: Disk, written: Written, stored: Stored) -> str | None:
    """Let a spare have the header that a boot gave it which the superblock does not know.

    Of such a boot nothing else may be left: it wrote no frame, and died before the rename.
    """
    floor = max(stored.superblock.seq_floor, written.seq_max)
    for name, file in disk.names.items():
        if spare_number(name) is None or file.number not in written.headers:
            continue
        header = decode_header(file.held(0, BLOCK_SIZE))
        number = stored.superblock.segment_max + 1
        later = next_life(header, number=number, first_seq=floor + 2 * SEQ_GAP)
        file.put(0, encode_header(later))
        return f"{name} was made ready by a boot that the superblock does not know"
    return None


def _with_checksum(stored: Stored) -> bytes:
    return sb.encode_copy(msgspec.structs.replace(stored, checksum=b"?" * 16), 0)


def _later_superblock(disk: Disk, stored: Stored) -> str:
    for copy in range(sb.COPY_COUNT):
        block = bytearray(sb.encode_copy(stored, copy))
        block[28:32] = (2).to_bytes(4, "little")
        block[8:24] = hash128(block[28:])
        disk.names[sb.FILE].put(sb.copy_offset(copy), bytes(block))
    return "the superblock is of a later format"


# ---------------------------------------------------------------- segments and frames


def _later_segment(disk: Disk) -> str | None:
    files = sorted(file for file in disk.names if segment_number(file) is not None)
    if not files:
        return None
    file = disk.names[files[-1]]
    for copy in range(2):
        block = bytearray(file.held(copy * BLOCK_SIZE, BLOCK_SIZE))
        block[4:6] = (2).to_bytes(2, "little")
        block[80:96] = hash128(block[:80])
        file.put(copy * BLOCK_SIZE, bytes(block))
    return "a segment is of a later format"
