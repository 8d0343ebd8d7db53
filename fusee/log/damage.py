"""Why a place does not continue the chain: torn, faulty or unknown.

The slow half of the scan, run once at the end of a log. It looks at the tags of the place
itself, then searches what lies behind for a witness (S-12): a later frame that says this
disk had been durable up to the missing batch. A witness turns any damage into loss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fusee.base.errors import DirectoryRefused
from fusee.base.limits import BLOCK_SIZE, FRAME_BYTES_MAX, WRITES_IN_FLIGHT_MAX
from fusee.log.batch import HEADER_SIZE, BadBatch, BatchFault, decode_header
from fusee.log.ending import EndClass, Place
from fusee.log.frame import (
    ENVELOPE_SIZE,
    BadFrame,
    Envelope,
    FrameFault,
    FrameKind,
    decode_envelope,
    frame_bytes,
    split_units,
)
from fusee.log.segment import DATA_START
from fusee.log.superblock import BatchId
from fusee.log.tags import (
    BLOCK_UNITS,
    SEQ_MASK,
    UNIT_CONTENT,
    UNIT_TAG,
    UnitTag,
    is_older,
)
from fusee.log.window import READ_BYTES, Window

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fusee.log.chain import Chain
    from fusee.log.segment import SegmentHeader
    from fusee.log.window import Read

SEARCH_BYTES = FRAME_BYTES_MAX * (1 + WRITES_IN_FLIGHT_MAX)
"""How far a witness may lie: behind the longest frame and all that were in flight with it."""

_NEWER_FORMAT = {FrameFault.OTHER_FORMAT, FrameFault.UNKNOWN_KIND, FrameFault.UNKNOWN_FLAGS}
_NEWER_BATCH = {BatchFault.OTHER_FORMAT, BatchFault.UNKNOWN_KIND, BatchFault.UNKNOWN_FLAGS}


class Finding(msgspec.Struct, frozen=True):
    """What the tags of one place say, before any witness is heard."""

    case: int
    reason: str
    identity: BatchId | None = None

    @property
    def has_older_unit(self) -> bool:
        """Whether a unit of the place is provably older than the frame that belongs there."""
        return self.case in (1, 2, 3, 7)


class Evidence(msgspec.Struct, frozen=True):
    """What later frames say. `is_later_frame` holds if there is any whole envelope at all."""

    witness: Place | None
    is_later_frame: bool
    seq_max: int
    next_batch: Place | None = None
    """The very next batch, whole: then what is damaged before it is a seal."""


def end_class(finding: Finding, evidence: Evidence) -> tuple[EndClass, int, str]:
    """Combine both by the table: class, number of the case, reason."""
    if evidence.witness is not None:
        text = f"{finding.reason}; a later frame proves that the batch had been durable"
        return EndClass.FAULTY, 6, text
    may_be_seal = finding.identity is None and not finding.has_older_unit
    if evidence.next_batch is not None and may_be_seal:
        # A frame goes out when the one before it is durable: that batch, too, was perhaps
        # acknowledged, and to end the log before it would drop it though it is there.
        text = f"{finding.reason}; the next batch lies whole behind it"
        return EndClass.FAULTY, 6, text
    if evidence.is_later_frame and finding.case != 7:
        text = f"{finding.reason}; a frame written beside it is whole"
        return (EndClass.TORN if finding.has_older_unit else EndClass.FAULTY), 10, text
    if finding.has_older_unit:
        return EndClass.TORN, finding.case, finding.reason
    known = EndClass.FAULTY if finding.case == 4 else EndClass.UNKNOWN
    return known, finding.case, finding.reason


def find_cause(window: Window, offset: int, chain: Chain) -> Finding:
    """Classify a place that `next_frame` refused, by its tags (cases 1 to 5 and 7)."""
    if offset + BLOCK_SIZE > window.size_bytes:
        return Finding(1, "the segment is full and the next one holds nothing")
    block = window.get(offset, BLOCK_SIZE)
    contents, tags = split_units(block)
    first_unit = offset // BLOCK_SIZE * BLOCK_UNITS
    head = UnitTag(tags[0], first_unit, window.file_key)
    expected_seq = _expected_seq(window, chain)
    if head.is_valid and is_older(head.seq, expected_seq):
        return Finding(1, "never written")
    envelope = _envelope(contents[0], head, window, offset, chain) if head.is_first else None
    if envelope is not None and not chain.is_continued_by(envelope):
        return Finding(7, "a frame of an earlier life of the file, or of a boot that crashed")
    if envelope is None:
        if _is_torn(tags, first_unit, window.file_key, expected_seq):
            return Finding(3, "torn: unreadable header beside a unit that was never written")
        return Finding(5, "unreadable header, and nothing proves that it was never written")
    size_bytes = min(frame_bytes(envelope.body_bytes), window.size_bytes - offset)
    contents, tags = split_units(window.get(offset, size_bytes))
    if _is_torn(tags, first_unit, window.file_key, expected_seq):
        return Finding(2, "torn: a unit of the frame was never written")
    if envelope.kind == FrameKind.SEAL:
        # It carries no batch, but the chain to the one behind it is cut.
        return Finding(5, "a damaged seal, and nothing proves that no batch followed it")
    _check_newer_batch(contents, envelope, window, offset)
    identity = BatchId(envelope.op, envelope.body_hash)
    return Finding(4, "written whole, but its content is damaged", identity)


def _expected_seq(window: Window, chain: Chain) -> int:
    return max(chain.local_seq + 1, window.header.first_seq)


def _is_torn(tags: list[int], first_unit: int, file_key: int, expected_seq: int) -> bool:
    """Whether one unit is provably older than what was last written over all of them.

    That is at least `expected_seq`, and more if another unit says so: when a boot dies while
    it overwrites what an earlier boot left torn, both are newer than the last accepted frame,
    and the older of the two is the proof.
    """
    seqs: list[int] = []
    for index, tag in enumerate(tags):
        unit = UnitTag(tag, first_unit + index, file_key)
        if unit.is_valid:
            seqs.append(unit.seq)
    newest_seq = expected_seq
    for seq in seqs:
        if not is_older(seq, expected_seq):
            newest_seq = max(newest_seq, expected_seq + ((seq - expected_seq) & SEQ_MASK))
    return any(is_older(seq, newest_seq) for seq in seqs)


def _envelope(
    content: bytes, tag: UnitTag, window: Window, offset: int, chain: Chain
) -> Envelope | None:
    try:
        envelope = decode_envelope(content)
    except BadFrame as bad:
        if bad.fault in _NEWER_FORMAT:
            raise DirectoryRefused(
                f"{window.file}, byte {offset}: {bad.fault}. The log was written by a later"
                " build; open the directory with that one."
            ) from None
        return None
    if envelope.kind in (FrameKind.INST_BEGIN, FrameKind.INST_COMMIT):
        raise DirectoryRefused(
            f"{window.file}, byte {offset}: an install bracket, which this build does not read."
            " Open the directory with the build that wrote it."
        )
    if tag.seq != envelope.local_seq & SEQ_MASK:
        return None
    # The superblock names a boot, and a view, before the first frame of either is written.
    if envelope.boot_count > chain.boot_count_max or envelope.accept_view > chain.log_view:
        raise DirectoryRefused(
            f"{window.file}, byte {offset}, op {envelope.op}: case 8: written in boot"
            f" {envelope.boot_count} and view {envelope.accept_view}, but the superblock knows"
            f" only boot {chain.boot_count_max} and view {chain.log_view}. The superblock is older"
            " than the log. Restore this directory from a backup, or replace the replica."
        )
    return envelope


def _check_newer_batch(
    contents: list[bytes], envelope: Envelope, window: Window, offset: int
) -> None:
    """A batch of a later format is not damage, and must not end the log."""
    if envelope.kind != FrameKind.BATCH:
        return
    try:
        decode_header(contents[0][ENVELOPE_SIZE : ENVELOPE_SIZE + HEADER_SIZE])
    except BadBatch as bad:
        if bad.fault in _NEWER_BATCH:
            raise DirectoryRefused(
                f"{window.file}, byte {offset}, op {envelope.op}: {bad.fault}. The log was"
                " written by a later build; open the directory with that one."
            ) from None


def find_evidence(
    read: Read, segments: Iterable[SegmentHeader], offset: int, chain: Chain, own: Place | None
) -> Evidence:
    """Search forward from `offset` of the first segment for later frames of this log.

    `own` is the place of the frame in question, which is no witness of itself.
    """
    witness: Place | None = None
    next_batch: Place | None = None
    is_later_frame = False
    seq_max = chain.local_seq
    for place, envelope in _later_envelopes(read, segments, offset, chain):
        if own is not None and (own.segment, own.offset) == (place.segment, place.offset):
            continue
        is_later_frame = True
        seq_max = max(seq_max, envelope.local_seq)
        if envelope.durable_op > chain.op:
            witness = place
            break
        is_batch = envelope.kind == FrameKind.BATCH
        # An older boot's frame is what an end in doubt has left behind.
        if is_batch and envelope.op == chain.op + 1 and envelope.boot_count >= chain.boot_count:
            next_batch = next_batch or place
    return Evidence(witness, is_later_frame, seq_max, next_batch)


def _later_envelopes(
    read: Read, segments: Iterable[SegmentHeader], offset: int, chain: Chain
) -> Iterator[tuple[Place, Envelope]]:
    left_bytes = SEARCH_BYTES
    for header in segments:
        window = Window(read, header)
        expected_seq = _expected_seq(window, chain)
        while offset < header.size_bytes and left_bytes > 0:
            size = min(READ_BYTES, header.size_bytes - offset, left_bytes)
            data = window.get(offset, size)
            for start in range(0, size, BLOCK_SIZE):
                tag = UNIT_TAG.unpack_from(data, start + UNIT_CONTENT)[0]
                if is_older(tag >> 25, expected_seq):
                    continue
                head = UnitTag(tag, (offset + start) // BLOCK_SIZE * BLOCK_UNITS, window.file_key)
                if not (head.is_valid and head.is_first):
                    continue
                envelope = _envelope(
                    bytes(data[start : start + UNIT_CONTENT]), head, window, offset + start, chain
                )
                if envelope is None:
                    continue
                yield Place(header.number, header.file, offset + start, envelope.op), envelope
            offset += size
            left_bytes -= size
        offset = DATA_START
