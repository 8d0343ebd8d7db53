"""What people and other builds do to a directory: files gone, mixed, cut short, later.

Each is done to a copy that is put back afterwards, as somebody restores a backup. All of them
must be refused: `tamper` returns why the oracle, which knows only damage, could not tell;
an empty reason means that it can.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fusee.base.checksum import hash128
from fusee.base.ids import OpNumber
from fusee.base.limits import BLOCK_SIZE
from fusee.log import superblock as sb
from fusee.log.batch import build_batch
from fusee.log.frame import FrameKind, encode_frame_into, frame_bytes
from fusee.log.segment import DATA_START, choose_header, segment_number
from fusee.log.superblock import BatchId
from sim.byte.foreign import OUR_GROUP, foreign_segment

if TYPE_CHECKING:
    from random import Random

    from fusee.log.superblock import Stored
    from fusee.testing.checkers.written import Written
    from fusee.testing.disk import Disk

NAMES = (
    "segment-gone",
    "segment-short",
    "segment-foreign",
    "segments-swapped",
    "superblock-gone",
    "superblock-other",
    "superblock-forked",
    "superblock-mixed",
    "later-frame",
    "later-batch",
    "later-segment",
    "later-superblock",
    "install-bracket",
    "regressed",
)


def tamper(name: str, disk: Disk, written: Written, stored: Stored, random: Random) -> str | None:
    """Do one thing to a directory. Returns the reason to refuse; None if it was not possible."""
    if name.startswith("superblock"):
        return _superblock(name, disk, stored)
    if name.startswith("segment"):
        return _segments(name, disk, random)
    if name == "later-superblock":
        return _later_superblock(disk, stored)
    if name == "later-segment":
        return _later_segment(disk)
    return _append(name, disk, written, stored)


# ---------------------------------------------------------------- files


def _segments(name: str, disk: Disk, random: Random) -> str | None:
    files = sorted(file for file in disk.names if segment_number(file) is not None)
    if not files:
        return None
    victim = random.choice(files)
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


def _append(name: str, disk: Disk, written: Written, stored: Stored) -> str | None:
    """Put a frame behind the last one that this build must not take for an end."""
    if not written.frames or not written.frames[-1].is_done:
        return None
    last = written.frames[-1]
    envelope, offset = last.envelope, last.offset + len(last.data)
    found = [file for file in disk.names.values() if file.number == last.file]
    if not found or offset + BLOCK_SIZE > len(found[0].image):
        return None
    file = found[0]
    blocks: list[bytes | None] = [file.held(copy * BLOCK_SIZE, BLOCK_SIZE) for copy in range(2)]
    heads = [frame.envelope.body_hash for frame in written.frames if frame.batch_op]
    prev = heads[-1] if heads else stored.superblock.base.hash
    batch = build_batch(OUR_GROUP, 0, 0, OpNumber(envelope.op + 1), prev, 0, 1, [(0, b"later")])
    body = bytearray(batch.data)
    if name == "later-batch":
        body[4] = 2
        body[104:120] = hash128(body[:104])
    buffer = bytearray(frame_bytes(len(body)))
    encode_frame_into(
        memoryview(buffer),
        offset,
        choose_header(blocks).file_key,
        kind=FrameKind.INST_BEGIN if name == "install-bracket" else FrameKind.BATCH,
        boot_count=envelope.boot_count,
        local_seq=envelope.local_seq + 1,
        log_gen=0,
        accept_view=stored.superblock.log_view + (name == "regressed"),
        durable_op=envelope.op,
        op=envelope.op + 1,
        prev_local=envelope.hash,
        body_hash=batch.hash,
        body=bytes(body),
    )
    if name == "later-frame":
        buffer[4] = 2
        buffer[88:104] = hash128(buffer[:88])
    file.put(offset, bytes(buffer))
    return f"a frame that only a later build reads follows ({name})"
