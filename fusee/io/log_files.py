"""The files of a log directory: making, loading and saving them on a device.

Each procedure here is an order of writes that a crash may cut anywhere; its docstring says
what the next open then finds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fusee.base.errors import DirectoryRefused, StorageFull
from fusee.base.limits import BLOCK_SIZE, MIB, SHARD_COUNT, STORAGE_RESERVE_BYTES
from fusee.log import superblock as sb
from fusee.log.segment import (
    DATA_START,
    HEADER_COPIES,
    BadSegment,
    SegmentHeader,
    SegmentSizes,
    choose_header,
    encode_header,
    fill,
    make_header,
    segment_name,
    segment_number,
    spare_name,
    spare_number,
)
from fusee.log.superblock import LogBase, Member, Role, Stored, Superblock
from fusee.log.window import read_blocks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fusee.log.device import Device
    from fusee.log.writer import Preparation

_SEQ_BEFORE_FIRST = 1
"""local_seq of the fill of the first segment; 0 stays unused, so that no tag is all zeros."""


class NewGroup(msgspec.Struct, frozen=True):
    """What a new directory is formatted as."""

    group_id: bytes
    incarnation: bytes
    slot: int = 0
    role: Role = Role.VOTER
    shard_count: int = SHARD_COUNT
    epoch: int = 0
    members: tuple[Member, ...] = ()


def is_storage_low(device: Device) -> bool:
    """Whether starts should be refused for want of space."""
    return device.free_bytes() < STORAGE_RESERVE_BYTES


# ---------------------------------------------------------------- superblock


def read_copies(device: Device) -> list[bytes | None]:
    """Return the four copies of the superblock, None for one that cannot be read."""
    copies: list[bytes | None] = []
    for copy in range(sb.COPY_COUNT):
        try:
            copies.append(device.read(sb.FILE, sb.copy_offset(copy), BLOCK_SIZE))
        except OSError:
            copies.append(None)
    return copies


def load_superblock(device: Device) -> tuple[Stored, list[int]] | None:
    """Return the superblock and which copies were repaired; None if there is no file.

    Bad copies are rewritten before anything else happens, unreadable ones first, so that a
    repair never destroys the quorum it repairs from.
    """
    if device.size(sb.FILE) < 0:
        return None
    copies = read_copies(device)
    stored = sb.choose(copies)
    repaired = sb.repair_order(copies, stored)
    if repaired:
        _write_copies(device, stored, repaired)
    return stored, repaired


def _write_copies(device: Device, stored: Stored, copies: Iterable[int]) -> int:
    """Write copies one after another; return how many of all four read back well.

    One that does not is written once more. A disk that only says it has written a copy would
    leave the next update too few of them to survive its own crash.
    """
    bad = list(copies)
    for _ in range(2):
        for copy in bad:
            # Not through the device's buffer: a frame may be in flight from there.
            device.write(sb.FILE, sb.copy_offset(copy), sb.encode_copy(stored, copy))
        bad = sb.not_as_written(read_copies(device), stored)
        if not bad:
            break
    return sb.COPY_COUNT - len(bad)


def save_superblock(device: Device, superblock: Superblock, before: Stored) -> Stored:
    """Write the successor of `before` and return once enough copies read back well.

    One copy after another: at every moment two copies agree on the old or the new one.
    Raises OSError otherwise, and then nobody may act on either.
    """
    stored = sb.store(superblock, before)
    verified = _write_copies(device, stored, range(sb.COPY_COUNT))
    if verified < sb.WRITE_QUORUM:
        raise OSError(f"superblock: only {verified} of {sb.COPY_COUNT} copies read back as written")
    return stored


# ---------------------------------------------------------------- formatting


def format_directory(device: Device, new: NewGroup, *, now_us: int) -> Stored:
    """Make a new superblock. The first segment follows in `ensure_first_segment`.

    In this order, log files without a superblock always mean a lost superblock.
    """
    leftover = [
        name
        for name in device.files()
        if segment_number(name) is not None or spare_number(name) is not None
    ]
    if leftover:
        raise DirectoryRefused(
            f"{leftover[0]}: there are log files but no superblock. A log is never used, or"
            " formatted over, without it. Restore the directory from a backup, or choose an"
            " empty one."
        )
    superblock = Superblock(
        group_id=new.group_id,
        incarnation=new.incarnation,
        base=LogBase(1, DATA_START, local_seq=_SEQ_BEFORE_FIRST),
        slot=new.slot,
        role=new.role,
        shard_count=new.shard_count,
        epoch=new.epoch,
        members=new.members,
        seq_floor=_SEQ_BEFORE_FIRST + 1,
        ts_us=now_us,
    )
    stored = sb.store(superblock, None)
    gap = bytes(sb.COPY_DISTANCE - BLOCK_SIZE)
    device.create(
        sb.FILE, (part for i in range(sb.COPY_COUNT) for part in (sb.encode_copy(stored, i), gap))
    )
    return stored


def ensure_first_segment(device: Device, superblock: Superblock, sizes: SegmentSizes) -> None:
    """Finish a format that a crash cut short: before the first boot there may be no segment."""
    base = superblock.base
    if superblock.boot_count or device.size(segment_name(base.segment)) >= 0:
        return
    header = make_header(
        number=base.segment,
        size_bytes=sizes.of(base.segment),
        first_seq=_SEQ_BEFORE_FIRST + 1,
        group_id=superblock.group_id,
        incarnation=superblock.incarnation,
    )
    device.create(header.file, fill(header))


# ---------------------------------------------------------------- segments


def make_segment(device: Device, preparation: Preparation) -> None:
    """Carry out a preparation; may run on any thread.

    The name of a segment appears last, so a crash leaves at most a spare with the header of
    either life. Raises `StorageFull` before anything is written.
    """
    header = preparation.header
    needed_bytes = preparation.needed_bytes
    if needed_bytes and device.free_bytes() < needed_bytes + MIB:
        raise StorageFull(
            f"{header.file}: the next log segment needs {needed_bytes // MIB} MiB and the file"
            " system does not have them. Free space; nothing was lost."
        )
    if not preparation.spare:
        device.create(header.file, fill(header))
        return
    if preparation.is_refilled:
        device.create(preparation.spare, fill(header))
    else:
        device.write(preparation.spare, 0, encode_header(header))
    device.rename(preparation.spare, header.file)


def retire_segment(device: Device, number: int) -> None:
    """Turn a segment that is no longer needed into a spare; the base is saved already."""
    device.rename(segment_name(number), spare_name(number))


def load_spares(device: Device, superblock: Superblock) -> dict[str, SegmentHeader | None]:
    """Return the spares, None for a header that cannot be used, and finish cut-off trims.

    Every header is looked at before a file is renamed: what is refused stays as it was.
    """
    names = list(device.files())
    retired = [
        number
        for name in names
        if (number := segment_number(name)) is not None and number < superblock.base.segment
    ]
    found = {
        name: _spare_header(device, name, superblock)
        for name in names
        if spare_number(name) is not None
    }
    for number in retired:
        found[spare_name(number)] = _spare_header(device, segment_name(number), superblock)
    for number in retired:
        retire_segment(device, number)
    return found


def _spare_header(device: Device, name: str, superblock: Superblock) -> SegmentHeader | None:
    blocks: list[bytes | None] = [
        read_blocks(device.read, name, copy * BLOCK_SIZE, BLOCK_SIZE)
        for copy in range(HEADER_COPIES)
    ]
    try:
        header = choose_header(blocks)
    except BadSegment:
        return None
    is_ours = (header.group_id, header.incarnation) == (
        superblock.group_id,
        superblock.incarnation,
    )
    if not is_ours or device.size(name) != header.size_bytes:
        return None
    if header.first_seq > superblock.seq_floor:
        # Every boot starts above whatever an earlier one gave to a file.
        raise DirectoryRefused(
            f"{name}: it was made ready in a later boot than the superblock knows. The superblock"
            " is older than the log. Restore this directory from a backup, or replace the replica."
        )
    return header
