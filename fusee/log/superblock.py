"""The superblock: what this replica has promised, and where its log begins.

Four identical copies in one file. Two copies written in turn would not do: rot in the newer
one silently brings the older back, and with it an older promise, hence a second vote. So a
superblock is read only by a quorum of two identical copies, and a directory that has none
is refused; the best single copy is never used.

    offset 0, 64 KiB, 128 KiB, 192 KiB:  header | body (msgpack) | zeros up to 4 KiB

The checksum covers everything but the copy's own index, so identical copies share it.

Format and rules: docs/internals/log.md.
"""

from __future__ import annotations

from enum import StrEnum
from struct import Struct
from typing import TYPE_CHECKING, Final

import msgspec

from fusee.base.checksum import HASH_SIZE, NO_HASH, hash128
from fusee.base.errors import DirectoryRefused
from fusee.base.limits import BLOCK_SIZE, KIB, SHARD_COUNT

if TYPE_CHECKING:
    from collections.abc import Sequence

FILE: Final = "superblock"
SUPERBLOCK_FORMAT: Final = 1
COPY_COUNT: Final = 4
COPY_DISTANCE: Final = 64 * KIB
OPEN_QUORUM: Final = 2
"""Identical valid copies that make a superblock."""
WRITE_QUORUM: Final = 3
"""Copies that must read back well before anybody acts on an update."""

_MAGIC: Final = b"FUSEESB\x00"
_HEADER: Final = Struct("<8s16sIIQ16sI4x")
_CHECKED_FROM: Final = 8 + 16 + 4
_BODY_BYTES_MAX: Final = BLOCK_SIZE - _HEADER.size

assert OPEN_QUORUM + WRITE_QUORUM > COPY_COUNT, "an acted-on update outlives its older sibling"


class SuperblockFault(StrEnum):
    """Why a directory's superblock is refused."""

    NOT_A_SUPERBLOCK = "not_a_superblock"
    OTHER_FORMAT = "other_format"
    QUORUM_LOST = "quorum_lost"
    FORKED = "forked"


class SuperblockRefused(DirectoryRefused):
    """The superblock cannot be used. `fault` names why, the message says what to do."""

    def __init__(self, fault: SuperblockFault, message: str) -> None:
        super().__init__(message)
        self.fault = fault


class Role(StrEnum):
    """What this replica is in its group."""

    BLANK = "blank"
    LEARNER = "learner"
    VOTER = "voter"


class Member(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One row of a member table."""

    slot: int
    name: str
    address: str
    incarnation: bytes
    role: Role = Role.VOTER


class LogBase(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Where the log begins: the state just before its first frame.

    `op` and `hash` are those of the last batch that is no longer needed, `local_seq` and
    `prev_local` those of the frame before; the first frame must continue all four.
    """

    segment: int
    offset: int
    op: int = 0
    hash: bytes = NO_HASH
    local_seq: int = 0
    prev_local: bytes = NO_HASH


class BatchId(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Identity of a batch (B-2)."""

    op: int = 0
    hash: bytes = NO_HASH


class Checkpoint(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A lower bound of what the run store holds."""

    op: int = 0
    hash: bytes = NO_HASH
    manifest_hash: bytes = NO_HASH


class Unknown(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """This replica cannot say whether it once acknowledged batch `op` (S-11)."""

    op: int
    log_view: int


class Superblock(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Everything the superblock holds. Fields are only ever appended, each with a default."""

    group_id: bytes
    incarnation: bytes
    base: LogBase
    slot: int = 0
    role: Role = Role.VOTER
    shard_count: int = SHARD_COUNT
    boot_count: int = 0
    epoch: int = 0
    members: tuple[Member, ...] = ()
    members_next: tuple[Member, ...] = ()
    view: int = 0
    log_view: int = 0
    vouch: BatchId = BatchId()
    unknown: Unknown | None = None
    commit_hint: int = 0
    checkpoint: Checkpoint = Checkpoint()
    log_gen: int = 0
    seq_floor: int = 0
    """No frame of this or a later boot has a smaller local_seq (see docs, "Provably older")."""
    ts_us: int = 0
    lease_promise_ms_max: int = 0
    segment_max: int = 0
    """Newest segment that was made; 0 was written before this field existed."""


class Stored(msgspec.Struct, frozen=True, gc=False):
    """A superblock as found on disk. `checksum` is the parent of the next one."""

    superblock: Superblock
    sequence: int
    parent: bytes
    checksum: bytes


_encode_body = msgspec.msgpack.Encoder().encode
_decode_body = msgspec.msgpack.Decoder(Superblock).decode


def copy_offset(copy: int) -> int:
    """Return the offset of one copy in the file."""
    return copy * COPY_DISTANCE


def store(superblock: Superblock, before: Stored | None) -> Stored:
    """Return the superblock as the successor of `before`, ready for `encode_copy`."""
    sequence = before.sequence + 1 if before else 1
    parent = before.checksum if before else NO_HASH
    draft = Stored(superblock, sequence, parent, NO_HASH)
    checksum = hash128(_encode(draft, 0)[_CHECKED_FROM:])
    return Stored(superblock, sequence, parent, checksum)


def _encode(stored: Stored, copy: int) -> bytes:
    body = _encode_body(stored.superblock)
    assert len(body) <= _BODY_BYTES_MAX, "the superblock does not fit a block"
    header = _HEADER.pack(
        _MAGIC,
        stored.checksum,
        copy,
        SUPERBLOCK_FORMAT,
        stored.sequence,
        stored.parent,
        len(body),
    )
    return (header + body).ljust(BLOCK_SIZE, b"\0")


def encode_copy(stored: Stored, copy: int) -> bytes:
    """Return the 4 KiB of one copy."""
    assert stored.checksum != NO_HASH
    return _encode(stored, copy)


def decode_copy(block: bytes | None, copy: int) -> Stored | SuperblockFault:
    """Read one copy; None stands for an unreadable block. Never raises."""
    if block is None or len(block) != BLOCK_SIZE:
        return SuperblockFault.QUORUM_LOST
    magic, checksum, index, version, sequence, parent, body_bytes = _HEADER.unpack_from(block)
    if magic != _MAGIC:
        return SuperblockFault.NOT_A_SUPERBLOCK
    if hash128(memoryview(block)[_CHECKED_FROM:]) != checksum or index != copy:
        return SuperblockFault.QUORUM_LOST
    if version != SUPERBLOCK_FORMAT:
        return SuperblockFault.OTHER_FORMAT
    if body_bytes > _BODY_BYTES_MAX:
        return SuperblockFault.QUORUM_LOST
    try:
        superblock = _decode_body(memoryview(block)[_HEADER.size : _HEADER.size + body_bytes])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return SuperblockFault.QUORUM_LOST
    if not _is_sound(superblock):
        return SuperblockFault.QUORUM_LOST
    return Stored(superblock, sequence, parent, checksum)


def _is_sound(superblock: Superblock) -> bool:
    base = superblock.base
    hashes = (
        superblock.group_id,
        superblock.incarnation,
        base.hash,
        base.prev_local,
        superblock.vouch.hash,
        superblock.checkpoint.hash,
    )
    return (
        all(len(value) == HASH_SIZE for value in hashes)
        and base.offset % BLOCK_SIZE == 0
        and min(base.segment, base.offset, base.op, base.local_seq, superblock.boot_count) >= 0
    )


def choose(blocks: Sequence[bytes | None]) -> Stored:
    """Return the superblock that a quorum of copies agrees on. Raises `SuperblockRefused`."""
    copies = [decode_copy(block, index) for index, block in enumerate(blocks)]
    good = [copy for copy in copies if isinstance(copy, Stored)]
    checksums = [copy.checksum for copy in good]
    agreed = [copy for copy in good if checksums.count(copy.checksum) >= OPEN_QUORUM]
    if not agreed:
        raise _refusal([copy for copy in copies if not isinstance(copy, Stored)], blocks)
    chosen = max(agreed, key=lambda copy: copy.sequence)
    _check_links(chosen, good)
    return chosen


def _check_links(chosen: Stored, good: Sequence[Stored]) -> None:
    """Refuse copies that do not fit into one line of updates with the chosen one."""
    for copy in good:
        follows = copy.sequence == chosen.sequence + 1
        precedes = copy.sequence == chosen.sequence - 1
        if copy.sequence > chosen.sequence + 1:
            raise SuperblockRefused(
                SuperblockFault.QUORUM_LOST,
                f"superblock: one copy is of update {copy.sequence}, but the newest that two"
                f" copies agree on is {chosen.sequence}: a later promise is lost. Restore this"
                " directory from a backup, or replace the replica.",
            )
        if (
            (copy.sequence == chosen.sequence and copy.checksum != chosen.checksum)
            or (follows and copy.parent != chosen.checksum)
            or (precedes and chosen.parent != copy.checksum)
        ):
            raise SuperblockRefused(
                SuperblockFault.FORKED,
                f"superblock: copies of updates {copy.sequence} and {chosen.sequence} do not"
                " continue each other. Files of two directories are mixed here.",
            )


def _refusal(faults: list[SuperblockFault], blocks: Sequence[bytes | None]) -> SuperblockRefused:
    if faults.count(SuperblockFault.OTHER_FORMAT) >= OPEN_QUORUM:
        versions = sorted(
            {
                _HEADER.unpack_from(block)[3]
                for index, block in enumerate(blocks)
                if block and decode_copy(block, index) is SuperblockFault.OTHER_FORMAT
            }
        )
        return SuperblockRefused(
            SuperblockFault.OTHER_FORMAT,
            f"superblock: written in format {', '.join(map(str, versions))}; this build reads"
            f" format {SUPERBLOCK_FORMAT}. Open the directory with the build that wrote it.",
        )
    if faults.count(SuperblockFault.NOT_A_SUPERBLOCK) == COPY_COUNT:
        return SuperblockRefused(
            SuperblockFault.NOT_A_SUPERBLOCK,
            "superblock: the file is not a Fusee superblock. Check the path.",
        )
    return SuperblockRefused(
        SuperblockFault.QUORUM_LOST,
        f"superblock: fewer than {OPEN_QUORUM} of {COPY_COUNT} copies agree. A single copy is"
        " never used, it may break a promise made later. Restore this directory from a backup,"
        " or replace the replica.",
    )


def repair_order(blocks: Sequence[bytes | None], chosen: Stored) -> list[int]:
    """Return the copies to rewrite with `chosen`: unreadable ones first, good ones never."""
    bad: list[int] = []
    other: list[int] = []
    for index, block in enumerate(blocks):
        copy = decode_copy(block, index)
        if not isinstance(copy, Stored):
            bad.append(index)
        elif copy.checksum != chosen.checksum:
            other.append(index)
    return bad + other


def not_as_written(blocks: Sequence[bytes | None], written: Stored) -> list[int]:
    """Return which copies do not read back as written; act while `WRITE_QUORUM` do."""
    return [i for i, block in enumerate(blocks) if block != encode_copy(written, i)]
