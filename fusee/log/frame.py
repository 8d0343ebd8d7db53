"""A frame: one batch, or one control record, as it lies on one disk.

    envelope | body | zeros up to the 4 KiB block

cut into 504-byte pieces, each followed by its unit tag. Frames start on block boundaries
and an acknowledged block is never rewritten (B-4). The envelope is local: it chains the
frames of *this* disk (S-2) and says how far this disk was durable when the frame was
submitted (S-1), which is the witness that later separates lost from torn.

Kinds INST_BEGIN and INST_COMMIT are named here so that older readers can refuse them by
name; nothing writes them yet.

Format: docs/internals/log.md.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from hashlib import blake2b
from struct import Struct
from typing import TYPE_CHECKING, Final

import msgspec

from fusee.base.checksum import NO_HASH
from fusee.base.limits import BLOCK_SIZE, FRAME_BYTES_MAX
from fusee.log.batch import BATCH_BYTES_MAX
from fusee.log.tags import (
    BLOCK,
    BLOCK_CONTENT,
    BLOCK_UNITS,
    FIRST_MARK,
    LAST_MARK,
    MIX,
    UNIT_CONTENT,
    mix,
    tag_base,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

FRAME_FORMAT: Final = 1
_MAGIC: Final = b"FsFr"
_ENVELOPE: Final = Struct("<4sBBHIIQQQQQ16s16s16s")
_UNHASHED: Final = Struct("<4sBBHIIQQQQQ16s16s")
_UNHASHED_SIZE: Final = _UNHASHED.size
ENVELOPE_SIZE: Final = _ENVELOPE.size
_pack_block: Final = BLOCK.pack_into
_, _M1, _M2, _M3, _M4, _M5, _M6, _M7 = MIX

assert ENVELOPE_SIZE == 104
assert ENVELOPE_SIZE + BATCH_BYTES_MAX <= FRAME_BYTES_MAX // BLOCK_SIZE * BLOCK_CONTENT


class FrameKind(IntEnum):
    """What a frame holds."""

    BATCH = 1
    SEAL = 2
    """No body: only says that everything up to `durable_op` is durable (S-7)."""
    INST_BEGIN = 3
    INST_COMMIT = 4


_KINDS = {int(kind): kind for kind in FrameKind}


class FrameFault(StrEnum):
    """Why bytes are not a frame's envelope."""

    SHORT = "shorter than an envelope"
    NOT_A_FRAME = "no frame magic"
    DAMAGED = "envelope does not match its hash"
    OTHER_FORMAT = "frame format not read by this build"
    UNKNOWN_KIND = "unknown frame kind"
    UNKNOWN_FLAGS = "unknown frame flags"
    BAD_LENGTH = "body longer than any frame may be"
    BAD_WITNESS = "claims its own batch durable before it was written"


class BadFrame(ValueError):
    """Foreign bytes are not a frame. `fault` names why."""

    def __init__(self, fault: FrameFault) -> None:
        super().__init__(str(fault))
        self.fault = fault


class Envelope(msgspec.Struct, frozen=True, gc=False):
    """The local header of a frame, its fields in the order of the format.

    `op` is the batch's op, for a seal the head when it was written. `body_hash` is the
    batch's hash, zeros without one. `prev_local` is the `hash` of the frame before.
    """

    kind: int
    body_bytes: int
    boot_count: int
    local_seq: int
    log_gen: int
    accept_view: int
    durable_op: int
    op: int
    prev_local: bytes
    body_hash: bytes
    hash: bytes


_new_hash = blake2b(digest_size=16).copy


def frame_bytes(body_bytes: int) -> int:
    """Return the size on disk of a frame with this body."""
    return (ENVELOPE_SIZE + body_bytes + BLOCK_CONTENT - 1) // BLOCK_CONTENT * BLOCK_SIZE


def encode_frame_into(
    buffer: memoryview,
    offset: int,
    file_key: int,
    *,
    kind: int,
    boot_count: int,
    local_seq: int,
    log_gen: int,
    accept_view: int,
    durable_op: int,
    op: int,
    prev_local: bytes,
    body_hash: bytes = NO_HASH,
    body: bytes = b"",
) -> bytes:
    """Fill `buffer`, to be written at `offset` of the file, and return the envelope's hash.

    `buffer` has exactly `frame_bytes(len(body))` bytes; every one of them is set.
    """
    unhashed = _UNHASHED.pack(
        _MAGIC,
        FRAME_FORMAT,
        kind,
        0,
        len(body),
        boot_count,
        local_seq,
        log_gen,
        accept_view,
        durable_op,
        op,
        prev_local,
        body_hash,
    )
    hashed = _new_hash()
    hashed.update(unhashed)
    digest = hashed.digest()
    content = unhashed + digest + body
    base, block = tag_base(local_seq, file_key), offset // BLOCK_SIZE
    if len(content) <= BLOCK_CONTENT:
        assert len(buffer) == BLOCK_SIZE
        _fill_block(buffer, 0, content, 0, base ^ mix(block * BLOCK_UNITS), FIRST_MARK, LAST_MARK)
    else:
        _fill(buffer, block, base, content)
    return digest


def _fill(buffer: memoryview, block: int, base: int, content: bytes) -> None:
    """Cut a long content into tagged units, from block number `block` of the file on."""
    last = len(buffer) // BLOCK_SIZE - 1
    assert last == (len(content) - 1) // BLOCK_CONTENT
    for i in range(last + 1):
        _fill_block(
            buffer,
            i * BLOCK_SIZE,
            content,
            i * BLOCK_CONTENT,
            base ^ mix((block + i) * BLOCK_UNITS),
            FIRST_MARK if i == 0 else 0,
            LAST_MARK if i == last else 0,
        )


def _fill_block(
    buffer: memoryview, place: int, content: bytes, start: int, tag: int, first: int, last: int
) -> None:
    """Cut eight units from `start` of the content; the packer adds zeros to short pieces."""
    _pack_block(
        buffer,
        place,
        content[start : start + 504],
        tag ^ first,
        content[start + 504 : start + 1008],
        tag ^ _M1,
        content[start + 1008 : start + 1512],
        tag ^ _M2,
        content[start + 1512 : start + 2016],
        tag ^ _M3,
        content[start + 2016 : start + 2520],
        tag ^ _M4,
        content[start + 2520 : start + 3024],
        tag ^ _M5,
        content[start + 3024 : start + 3528],
        tag ^ _M6,
        content[start + 3528 : start + 4032],
        tag ^ _M7 ^ last,
    )


def decode_envelope(content: bytes | memoryview) -> Envelope:
    """Read the envelope at the start of a first unit's content. Raises `BadFrame`."""
    if len(content) < ENVELOPE_SIZE:
        raise BadFrame(FrameFault.SHORT)
    magic, frame_format, kind, flags, *rest = _ENVELOPE.unpack_from(content)
    if magic != _MAGIC:
        raise BadFrame(FrameFault.NOT_A_FRAME)
    if blake2b(content[:_UNHASHED_SIZE], digest_size=16).digest() != rest[-1]:
        raise BadFrame(FrameFault.DAMAGED)
    if frame_format != FRAME_FORMAT:
        raise BadFrame(FrameFault.OTHER_FORMAT)
    if kind not in _KINDS:
        raise BadFrame(FrameFault.UNKNOWN_KIND)
    if flags != 0:
        raise BadFrame(FrameFault.UNKNOWN_FLAGS)
    envelope = Envelope(kind, *rest)
    if envelope.body_bytes > BATCH_BYTES_MAX:
        raise BadFrame(FrameFault.BAD_LENGTH)
    durable_op, op = envelope.durable_op, envelope.op
    if durable_op > op or (kind == FrameKind.BATCH and durable_op == op):
        raise BadFrame(FrameFault.BAD_WITNESS)
    return envelope


def expected_tags(offset: int, block_count: int, local_seq: int, file_key: int) -> list[int]:
    """Return the tags of every unit of a frame at `offset` of the file, in order."""
    base = tag_base(local_seq, file_key)
    first_block = offset // BLOCK_SIZE
    starts = [
        base ^ mix(block * BLOCK_UNITS) for block in range(first_block, first_block + block_count)
    ]
    tags = [start ^ m for start in starts for m in MIX]
    tags[0] ^= FIRST_MARK
    tags[-1] ^= LAST_MARK
    return tags


def split_units(data: bytes | memoryview) -> tuple[list[bytes], list[int]]:
    """Return contents and tags of the units of whole blocks."""
    contents: list[bytes] = []
    tags: list[int] = []
    for block in BLOCK.iter_unpack(data):
        contents += block[::2]
        tags += block[1::2]
    return contents, tags


def join_body(contents: Sequence[bytes], body_bytes: int) -> bytes:
    """Return the body that follows the envelope in a frame's unit contents."""
    unit_count = (ENVELOPE_SIZE + body_bytes + UNIT_CONTENT - 1) // UNIT_CONTENT
    return b"".join(contents[:unit_count])[ENVELOPE_SIZE : ENVELOPE_SIZE + body_bytes]
