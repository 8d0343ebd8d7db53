"""Frames that were never written: sound in themselves, and wrong in one thing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.base.checksum import hash128
from fusee.base.ids import OpNumber
from fusee.base.limits import BLOCK_SIZE, UNIT_SIZE
from fusee.log.batch import build_batch
from fusee.log.frame import FrameKind, encode_frame_into, frame_bytes
from fusee.log.segment import BadSegment, choose_header, segment_number
from sim.byte.foreign import OUR_GROUP

if TYPE_CHECKING:
    from fusee.log.superblock import Stored
    from fusee.testing.checkers.written import Written
    from fusee.testing.disk import Disk


def forge(name: str, disk: Disk, written: Written, stored: Stored) -> tuple[str, int, bytes] | None:
    """Return file, offset and bytes of a frame behind the last one, wrong in what is named.

        later-frame        a frame format of a later build
        later-batch        a batch format of a later build
        install-bracket    a kind of frame that nothing writes yet
        regressed          a view that the superblock does not know
        regressed-torn     the same, and only the first unit landed
        stale-chain        a predecessor that is not there
        stale-op           the same, with the op of the batch before it

    None if there is no room for it.
    """
    place = _place(disk, written)
    if place is None:
        return None
    file_name, offset, file_key = place
    envelope = written.frames[-1].envelope
    heads = [frame.envelope.body_hash for frame in written.frames if frame.batch_op]
    prev = heads[-1] if heads else stored.superblock.base.hash
    is_again = name == "stale-op" and envelope.kind == FrameKind.BATCH
    op = OpNumber(envelope.op + (not is_again))
    batch = build_batch(OUR_GROUP, 0, 0, op, prev, 0, 1, [(0, b"forged")])
    is_stale = name.startswith("stale")
    body = bytearray(batch.data)
    if name == "later-batch":
        body[4] = 2
        body[104:120] = hash128(body[:104])
    buffer = bytearray(frame_bytes(len(body)))
    encode_frame_into(
        memoryview(buffer),
        offset,
        file_key,
        kind=FrameKind.INST_BEGIN if name == "install-bracket" else FrameKind.BATCH,
        boot_count=envelope.boot_count,
        local_seq=envelope.local_seq + 1,
        log_gen=0,
        accept_view=stored.superblock.log_view + name.startswith("regressed"),
        durable_op=0 if is_stale else envelope.op,
        op=op,
        prev_local=b"?" * 16 if is_stale else envelope.hash,
        body_hash=batch.hash,
        body=bytes(body),
    )
    if name == "later-frame":
        buffer[4] = 2
        buffer[88:104] = hash128(buffer[:88])
    return file_name, offset, bytes(buffer[:UNIT_SIZE] if name == "regressed-torn" else buffer)


def _place(disk: Disk, written: Written) -> tuple[str, int, int] | None:
    """Return where the next frame goes, and the key of the file; None if nothing can go there."""
    if not written.frames or not written.frames[-1].is_done:
        return None
    last = written.frames[-1]
    offset = last.offset + len(last.data)
    for name, file in disk.names.items():
        if file.number != last.file or segment_number(name) is None:
            continue
        if offset + BLOCK_SIZE > len(file.image):
            return None
        try:
            header = choose_header([file.held(copy * BLOCK_SIZE, BLOCK_SIZE) for copy in range(2)])
        except BadSegment:
            return None
        return name, offset, header.file_key
    return None
