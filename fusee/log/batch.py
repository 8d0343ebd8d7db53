"""The canonical batch: the unit of the log and of replication.

Its bytes are the same on every replica, for ever: a batch that a later view inherits
keeps them (B-1), and its identity is `(op, hash)`, never the op alone (B-2).

    header | section table | sections

The hash covers the header, the header holds the hash of everything behind it. So the
header alone proves which batch this is: a replica whose copy of the content is damaged
still knows what it must ask the others for. Padding is never part of a batch.

Format: docs/internals/log.md.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from hashlib import blake2b
from itertools import pairwise
from struct import Struct
from typing import TYPE_CHECKING, Any

import msgspec

from fusee.base.checksum import HASH_SIZE
from fusee.base.ids import BatchHash, OpNumber
from fusee.base.limits import FRAME_BYTES_MAX

if TYPE_CHECKING:
    from collections.abc import Sequence

BATCH_FORMAT = 1
SECTIONS_MAX = 4096
"""Bound of the section table; shard counts stay far below it."""

_MAGIC = b"FsBt"
_HEADER = Struct("<4sBBH16sIIQQ16sQQII16s16s")
_UNHASHED = Struct("<4sBBH16sIIQQ16sQQII16s")
_TABLE_ROW = Struct("<II")
_TABLE_ROW_SIZE = _TABLE_ROW.size
_pack_row = _TABLE_ROW.pack
_pack_unhashed = _UNHASHED.pack
_NEW_HASH = blake2b(digest_size=HASH_SIZE).copy
"""A fresh hash: copying an empty one is cheaper than parsing the arguments of another."""
_HASHED_SIZE = _UNHASHED.size

HEADER_SIZE = _HEADER.size
BATCH_BYTES_MAX = FRAME_BYTES_MAX - 64 * 1024 - FRAME_BYTES_MAX // 64
"""Largest batch: what a frame holds beside its envelope and 8 bytes of tag per 512."""

_PAYLOAD_BYTES_MAX = BATCH_BYTES_MAX - HEADER_SIZE

assert HEADER_SIZE == 120
assert _HEADER.size == _HASHED_SIZE + HASH_SIZE


class BatchKind(IntEnum):
    """Who applies the batch: the engine, or the protocol before it."""

    DATA = 1
    EPOCH = 2
    CHECKPOINT_MARK = 3


DATA = BatchKind.DATA
_KINDS = {int(kind): kind for kind in BatchKind}


class BatchFault(StrEnum):
    """Why bytes are not a batch."""

    SHORT = "shorter than a batch header"
    NOT_A_BATCH = "no batch magic"
    OTHER_FORMAT = "batch format not read by this build"
    UNKNOWN_KIND = "unknown batch kind"
    UNKNOWN_FLAGS = "unknown batch flags"
    TOO_LONG = "longer than any batch may be"
    WRONG_LENGTH = "length differs from the header's"
    HEADER_DAMAGED = "header does not match its hash"
    PAYLOAD_DAMAGED = "content does not match the header's hash of it"
    BAD_OP = "op 0 is before the first batch"
    BAD_TABLE = "section table does not fit the content"


class BadBatch(ValueError):
    """Foreign bytes are not a batch. `fault` names why."""

    def __init__(self, fault: BatchFault) -> None:
        super().__init__(str(fault))
        self.fault = fault


class BatchHeader(msgspec.Struct, frozen=True, gc=False):
    """What the first 120 bytes of a batch say, proven by `hash`, in their order."""

    kind: int
    group_id: bytes
    epoch: int
    payload_bytes: int
    view: int
    op: int
    prev: bytes
    commit_op: int
    ts_us: int
    group_count: int
    section_count: int
    payload_hash: bytes
    hash: bytes


class Batch(msgspec.Struct, frozen=True, gc=False):
    """One batch. `data` is its canonical bytes and everything else is read from them.

    `commit_op` is the primary's commit when it sealed the batch, `view` the view in which
    it was first proposed, `group_count` how many atomic groups (tickets) it carries.
    """

    op: OpNumber
    view: int
    epoch: int
    prev: bytes
    hash: BatchHash
    commit_op: int
    ts_us: int
    kind: int
    group_count: int
    group_id: bytes
    data: bytes


def build_batch(
    group_id: bytes,
    epoch: int,
    view: int,
    op: OpNumber,
    prev: bytes,
    commit_op: int,
    ts_us: int,
    sections: Sequence[tuple[int, bytes]],
    kind: int = DATA,
    group_count: int = 0,
) -> Batch:
    """Return the batch of these sections, which come in ascending order of shard."""
    if len(sections) == 1:
        shard, content = sections[0]
        payload = _pack_row(shard, len(content)) + content
    else:
        payload = _join_sections(sections)
    assert len(payload) <= _PAYLOAD_BYTES_MAX, "groups are bounded before they are appended"
    digest = _NEW_HASH()
    digest.update(payload)
    unhashed = _pack_unhashed(
        _MAGIC,
        BATCH_FORMAT,
        kind,
        0,
        group_id,
        epoch,
        len(payload),
        view,
        op,
        prev,
        commit_op,
        ts_us,
        group_count,
        len(sections),
        digest.digest(),
    )
    digest = _NEW_HASH()
    digest.update(unhashed)
    hashed: Any = digest.digest()
    data = unhashed + hashed + payload
    return Batch(op, view, epoch, prev, hashed, commit_op, ts_us, kind, group_count, group_id, data)


def _join_sections(sections: Sequence[tuple[int, bytes]]) -> bytes:
    assert len(sections) <= SECTIONS_MAX
    shards = [shard for shard, _ in sections]
    assert all(a < b for a, b in pairwise(shards)), "shards not ascending"
    table = [_TABLE_ROW.pack(shard, len(content)) for shard, content in sections]
    return b"".join([*table, *(content for _, content in sections)])


def decode_header(data: bytes | memoryview) -> BatchHeader:
    """Read the first bytes of a batch. Raises `BadBatch`; says nothing about the content."""
    if len(data) < HEADER_SIZE:
        raise BadBatch(BatchFault.SHORT)
    magic, batch_format, kind, flags, *rest = _HEADER.unpack_from(data)
    if magic != _MAGIC:
        raise BadBatch(BatchFault.NOT_A_BATCH)
    if blake2b(data[:_HASHED_SIZE], digest_size=16).digest() != rest[-1]:
        raise BadBatch(BatchFault.HEADER_DAMAGED)
    if batch_format != BATCH_FORMAT:
        raise BadBatch(BatchFault.OTHER_FORMAT)
    if kind not in _KINDS:
        raise BadBatch(BatchFault.UNKNOWN_KIND)
    if flags != 0:
        raise BadBatch(BatchFault.UNKNOWN_FLAGS)
    head = BatchHeader(kind, *rest)
    if head.op == 0:
        raise BadBatch(BatchFault.BAD_OP)
    if head.payload_bytes > BATCH_BYTES_MAX - HEADER_SIZE:
        raise BadBatch(BatchFault.TOO_LONG)
    table_bytes = head.section_count * _TABLE_ROW_SIZE
    if head.section_count > SECTIONS_MAX or table_bytes > head.payload_bytes:
        raise BadBatch(BatchFault.BAD_TABLE)
    return head


def decode_batch(data: bytes | memoryview) -> Batch:
    """Return the batch whose canonical bytes are exactly `data`. Raises `BadBatch`."""
    if len(data) > BATCH_BYTES_MAX:
        raise BadBatch(BatchFault.TOO_LONG)
    whole = bytes(data)
    head = decode_header(whole)
    if len(whole) != HEADER_SIZE + head.payload_bytes:
        raise BadBatch(BatchFault.WRONG_LENGTH)
    payload = memoryview(whole)[HEADER_SIZE:]
    if blake2b(payload, digest_size=16).digest() != head.payload_hash:
        raise BadBatch(BatchFault.PAYLOAD_DAMAGED)
    _check_table(payload, head.section_count)
    return Batch(
        OpNumber(head.op),
        head.view,
        head.epoch,
        head.prev,
        BatchHash(head.hash),
        head.commit_op,
        head.ts_us,
        head.kind,
        head.group_count,
        head.group_id,
        whole,
    )


def _check_table(payload: memoryview, section_count: int) -> None:
    """Refuse a table that is not the one `build_batch` writes: one content, one encoding."""
    rest_bytes = len(payload) - section_count * _TABLE_ROW_SIZE
    last = -1
    for row in range(section_count):
        shard, size = _TABLE_ROW.unpack_from(payload, row * _TABLE_ROW_SIZE)
        if shard <= last:
            raise BadBatch(BatchFault.BAD_TABLE)
        last = shard
        rest_bytes -= size
    if rest_bytes != 0:
        raise BadBatch(BatchFault.BAD_TABLE)


def sections(batch: Batch) -> list[tuple[int, memoryview]]:
    """Return `(shard, content)` of every section, in ascending order of shard."""
    data = memoryview(batch.data)
    section_count = _HEADER.unpack_from(data)[13]
    start = HEADER_SIZE + section_count * _TABLE_ROW_SIZE
    found: list[tuple[int, memoryview]] = []
    for row in range(section_count):
        shard, size = _TABLE_ROW.unpack_from(data, HEADER_SIZE + row * _TABLE_ROW_SIZE)
        found.append((shard, data[start : start + size]))
        start += size
    return found
