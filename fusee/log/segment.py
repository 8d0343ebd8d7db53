"""Segment files: names, header, and the fill a new file is written with.

A segment is filled once, with tagged empty units, before its name appears (S-6): a first
write into a hole costs a journal commit of the file system, and an untagged unit could not
be told from a damaged one. After that the file is never filled again. When its batches are
no longer needed it becomes a *spare*, and a spare becomes the next segment by a new header
and a rename; its old frames stay and are stale by their tags.

Two things make that proof work. `file_key`, which every tag is checked with, stays with the
file for all its lives, so that stale tags can still be checked. `first_seq` of the header is
above every local_seq written in an earlier life and at or below every one of this life.

The header lies in two blocks, in one unit each, so that no torn or unreadable block takes
the key with it.

Format: docs/internals/log.md.
"""

from __future__ import annotations

from enum import StrEnum
from struct import Struct
from typing import TYPE_CHECKING, Final

import msgspec

from fusee.base.checksum import HASH_SIZE, hash128
from fusee.base.limits import (
    BLOCK_SIZE,
    KIB,
    MIB,
    SEGMENT_SIZE,
    SEGMENT_SIZE_FIRST,
)
from fusee.log.tags import BLOCK_TAGS, BLOCK_UNITS, MIX, mix, tag_base

if TYPE_CHECKING:
    from collections.abc import Iterator

SEGMENT_FORMAT: Final = 1
HEADER_COPIES: Final = 2
DATA_START: Final = HEADER_COPIES * BLOCK_SIZE
"""Offset of the first frame in every segment."""
SEGMENT_BYTES_MIN: Final = 32 * KIB

_MAGIC: Final = b"FsSg"
_HEADER: Final = Struct("<4sHHIIQQQQ16s16s")
_HEADER_SIZE: Final = _HEADER.size
_NUMBER_DIGITS: Final = 12
_SEGMENT: Final = "segment-"
_SPARE: Final = "spare-"
_CHUNK_BYTES: Final = 1 * MIB

assert _HEADER_SIZE + HASH_SIZE <= 512, "a header must land whole or not at all"


class SegmentFault(StrEnum):
    """Why bytes are not the header of the segment that was asked for."""

    SHORT = "shorter than a segment header"
    NOT_A_SEGMENT = "no segment magic"
    DAMAGED = "header does not match its hash"
    OTHER_FORMAT = "segment format not read by this build"
    UNKNOWN_FLAGS = "unknown segment flags"
    BAD_SIZE = "impossible segment size"


class BadSegment(ValueError):
    """Foreign bytes are not a segment header. `fault` names why."""

    def __init__(self, fault: SegmentFault) -> None:
        super().__init__(str(fault))
        self.fault = fault


class SegmentSizes(msgspec.Struct, frozen=True, gc=False):
    """Sizes of new segments. The first is small so that a small log is a small file."""

    first_bytes: int = SEGMENT_SIZE_FIRST
    next_bytes: int = SEGMENT_SIZE

    def of(self, number: int) -> int:
        """Return the size of segment `number`."""
        return self.first_bytes if number == 1 else self.next_bytes


class SegmentHeader(msgspec.Struct, frozen=True, gc=False):
    """Who a segment file is. `life` counts how often the file became a segment, from 1."""

    number: int
    file_key: int
    size_bytes: int
    life: int
    first_seq: int
    group_id: bytes
    incarnation: bytes

    @property
    def file(self) -> str:
        """The name of the file."""
        return segment_name(self.number)


def segment_name(number: int) -> str:
    """Return the file name of segment `number`, which counts from 1."""
    return f"{_SEGMENT}{number:0{_NUMBER_DIGITS}d}"


def spare_name(number: int) -> str:
    """Return the name under which the file that was segment `number` waits for its next life."""
    return f"{_SPARE}{number:0{_NUMBER_DIGITS}d}"


def _number_of(name: str, prefix: str) -> int | None:
    digits = name.removeprefix(prefix)
    if digits == name or len(digits) != _NUMBER_DIGITS or not digits.isascii():
        return None
    return int(digits) if digits.isdigit() else None


def segment_number(name: str) -> int | None:
    """Return the number in a segment's file name, None for other files."""
    return _number_of(name, _SEGMENT)


def spare_number(name: str) -> int | None:
    """Return the number in a spare's file name, None for other files."""
    return _number_of(name, _SPARE)


def make_header(
    *, number: int, size_bytes: int, first_seq: int, group_id: bytes, incarnation: bytes
) -> SegmentHeader:
    """Return the header of a file that is made now; the key follows from where and when."""
    seed = number.to_bytes(8, "little") + first_seq.to_bytes(8, "little")
    key = int.from_bytes(hash128(b"segment", group_id, incarnation, seed)[:8], "little")
    return SegmentHeader(number, key, size_bytes, 1, first_seq, group_id, incarnation)


def next_life(header: SegmentHeader, *, number: int, first_seq: int) -> SegmentHeader:
    """Return the header with which a spare becomes segment `number`. The key stays."""
    assert first_seq >= header.first_seq
    return msgspec.structs.replace(header, number=number, life=header.life + 1, first_seq=first_seq)


def encode_header(header: SegmentHeader) -> bytes:
    """Return both copies of the header: the first `DATA_START` bytes of the file."""
    assert len(header.group_id) == len(header.incarnation) == 16
    body = _HEADER.pack(
        _MAGIC,
        SEGMENT_FORMAT,
        0,
        header.life,
        0,
        header.number,
        header.file_key,
        header.size_bytes,
        header.first_seq,
        header.group_id,
        header.incarnation,
    )
    return (body + hash128(body)).ljust(BLOCK_SIZE, b"\0") * HEADER_COPIES


def decode_header(block: bytes | memoryview) -> SegmentHeader:
    """Read one copy of a header. Raises `BadSegment`."""
    if len(block) < _HEADER_SIZE + HASH_SIZE:
        raise BadSegment(SegmentFault.SHORT)
    body = bytes(block[:_HEADER_SIZE])
    magic, version, flags, life, flags2, number, key, size_bytes, first_seq, group, incarnation = (
        _HEADER.unpack(body)
    )
    if magic != _MAGIC:
        raise BadSegment(SegmentFault.NOT_A_SEGMENT)
    if hash128(body) != block[_HEADER_SIZE : _HEADER_SIZE + HASH_SIZE]:
        raise BadSegment(SegmentFault.DAMAGED)
    if version != SEGMENT_FORMAT:
        raise BadSegment(SegmentFault.OTHER_FORMAT)
    if flags or flags2:
        raise BadSegment(SegmentFault.UNKNOWN_FLAGS)
    if size_bytes % BLOCK_SIZE or not SEGMENT_BYTES_MIN <= size_bytes <= SEGMENT_SIZE:
        raise BadSegment(SegmentFault.BAD_SIZE)
    return SegmentHeader(number, key, size_bytes, life, first_seq, group, incarnation)


def choose_header(blocks: list[bytes | None]) -> SegmentHeader:
    """Return the newest header among the copies; None stands for an unreadable block.

    Raises `BadSegment` with the first copy's fault when none is good. Copies differ only in
    a spare whose next life a crash cut short, and there either will do.
    """
    found: list[SegmentHeader] = []
    faults: list[BadSegment] = []
    for block in blocks:
        try:
            found.append(decode_header(block or b""))
        except BadSegment as fault:
            faults.append(fault)
    if not found:
        raise faults[0]
    return max(found, key=lambda header: header.life)


def fill(header: SegmentHeader) -> Iterator[bytes]:
    """Yield the content of a new segment file: the header, then tagged empty units.

    The tags carry the local_seq just below the file's first, so every frame ever written
    here is newer than the unit it overwrites.
    """
    base = tag_base(header.first_seq - 1, header.file_key)
    pack = BLOCK_TAGS.pack_into
    for start in range(0, header.size_bytes, _CHUNK_BYTES):
        chunk = bytearray(min(_CHUNK_BYTES, header.size_bytes - start))
        first_unit = start // BLOCK_SIZE * BLOCK_UNITS
        for index in range(len(chunk) // BLOCK_SIZE):
            tag = base ^ mix(first_unit + index * BLOCK_UNITS)
            pack(chunk, index * BLOCK_SIZE, *[tag ^ m for m in MIX])
        if start == 0:
            chunk[:DATA_START] = encode_header(header)
        yield bytes(chunk)
