"""Reading a log back: every batch that continues the chain, then why there is no next one.

    scan = LogScan(read, files, superblock)
    for batch in scan.batches():        # streams; keeps one window in memory
        ...
    scan.end                            # LogEnd: where, which class, which case

Alone there is nobody to ask (S-10): if a witness proves that an acknowledged batch is gone,
the scan raises `AcknowledgedDataLost` and nothing is opened. Damage without a witness ends
the log and is returned as a value that the caller must report.

Nothing is written here, so nothing that proves anything is erased (S-11).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fusee.base.errors import AcknowledgedDataLost, DirectoryRefused
from fusee.base.limits import BLOCK_SIZE
from fusee.log.chain import Chain, Frame, Walk
from fusee.log.damage import Evidence, end_class, find_cause, find_evidence
from fusee.log.ending import EndClass, LogEnd, Place
from fusee.log.index import LogIndex, Mark, SegmentStart
from fusee.log.segment import (
    DATA_START,
    HEADER_COPIES,
    BadSegment,
    SegmentFault,
    SegmentHeader,
    choose_header,
    segment_name,
    segment_number,
)
from fusee.log.window import Window, read_blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fusee.log.batch import Batch
    from fusee.log.superblock import Superblock
    from fusee.log.window import Read


class LogScan:
    """One pass over the log of a directory. Notes the segments and an index as it goes."""

    def __init__(
        self, read: Read, files: Iterable[str], superblock: Superblock, *, is_alone: bool = True
    ) -> None:
        self._device_read = read
        self._unreadable: list[tuple[str, int]] = []
        self._superblock = superblock
        self._is_alone = is_alone
        self._headers = load_headers(read, files, superblock)
        windows = [Window(self._read, header) for header in self._headers]
        chain = Chain(superblock.base, superblock)
        self._walk = Walk(chain, windows, superblock.base.offset)
        self._end: LogEnd | None = None
        self.starts = [SegmentStart(windows[0].header, superblock.base)]
        """Segments that hold frames, in order; the last one is where the log ends."""
        self.index = LogIndex()

    @property
    def end(self) -> LogEnd:
        """How the log ends; known when `batches` is exhausted."""
        assert self._end is not None, "scan not finished"
        return self._end

    @property
    def prepared(self) -> SegmentHeader | None:
        """The segment after the last one in use, if it exists already."""
        used = len(self.starts)
        return self._headers[used] if used < len(self._headers) else None

    @property
    def newest_segment(self) -> int:
        """Number of the newest segment there is, used or not."""
        return self._headers[-1].number

    def batches(self) -> Iterator[Batch]:
        """Yield every batch in order. Raises `AcknowledgedDataLost`, `DirectoryRefused`."""
        walk = self._walk
        index = self.index
        while (frame := walk.peek()) is not None:
            if walk.index == len(self.starts):
                self.starts.append(SegmentStart(walk.window.header, walk.base()))
            if index.is_due(self.starts[-1].header.number, walk.offset):
                index.add(Mark(walk.base(), walk.chain.boot_count))
            if frame.batch is not None:
                self._check_vouch(frame, walk.window, walk.offset)
            walk.advance(frame)
            if frame.batch is not None:
                yield frame.batch
        self._end = self._close(walk)

    def confirm(self, read: Read) -> LogEnd:
        """Return the end; if it is in doubt, look again before anything is written over it.

        A block that came from the wrong place, or was changed on its way, is no damage: what
        lies there was perhaps acknowledged, or is the witness of what was, and reads well now.
        `read` must not be a cache. Raises as `batches` does.
        """
        first = self.end
        if first.is_certain:
            return first
        self._device_read = read
        index = self._walk.index
        windows = [*self._walk.windows[:index]]
        windows += [Window(self._read, header) for header in self._headers[index:]]
        again = Walk(self._walk.chain, windows, self._walk.offset, index)
        if again.peek() is not None:
            found = "a whole batch"
        else:
            second = self._close(again)
            if second == first:
                return first
            found = second.reason
        raise DirectoryRefused(
            f"{first.place}: the disk returned other bytes when it was read again:"
            f" {first.reason}, and then: {found}. Nothing was opened or changed."
            " Check the disk, its connection and the memory of this machine, then open again."
        )

    def _read(self, file: str, offset: int, size: int) -> bytes:
        """Read through the device, noting the single blocks that it cannot read."""
        try:
            return self._device_read(file, offset, size)
        except OSError:
            if size == BLOCK_SIZE:
                self._unreadable.append((file, offset))
            raise

    def _check_vouch(self, frame: Frame, window: Window, offset: int) -> None:
        """I-4: the log must hold the very batch that the superblock vouches for."""
        assert frame.batch is not None
        for known in (self._superblock.vouch, self._superblock.checkpoint):
            if frame.batch.op == known.op and frame.batch.hash != known.hash:
                raise DirectoryRefused(
                    f"{window.file}, byte {offset}, op {known.op}: the log holds another batch"
                    " than the one the superblock names. Files of two directories are mixed."
                )

    def _close(self, walk: Walk) -> LogEnd:
        chain, windows, index, offset = walk.chain, walk.windows, walk.index, walk.offset
        found_index, found_offset = index, offset
        finding = find_cause(windows[index], offset, chain)
        if finding.has_older_unit and index + 1 < len(windows):
            # The frame may not have fitted here; then it is the next segment's first.
            first = find_cause(windows[index + 1], DATA_START, chain)
            if not first.has_older_unit or (finding.case == 1 and first.case in (2, 3)):
                finding, found_index, found_offset = first, index + 1, DATA_START
        # A frame of case 7 lies whole at the place itself and may be a witness too.
        search_from = offset if finding.case == 7 else offset + BLOCK_SIZE
        found = windows[found_index].header
        place = Place(found.number, found.file, found_offset, chain.op + 1)
        own = None if finding.case == 7 else place
        evidence = find_evidence(self._read, self._headers[index:], search_from, chain, own)
        evidence = self._sound(evidence, found.number)
        kind, case, reason = end_class(finding, evidence)
        end = LogEnd(
            op=chain.op,
            hash=chain.hash,
            view=chain.view,
            ts_us=chain.ts_us,
            local_seq=chain.local_seq,
            prev_local=chain.prev_local,
            boot_count=chain.boot_count,
            witnessed_op=chain.witnessed_op,
            seq_max=evidence.seq_max,
            write_segment=windows[index].header.number,
            write_offset=offset,
            place=place,
            end_class=kind,
            case=case,
            reason=reason,
            identity=finding.identity,
            witness=evidence.witness or evidence.next_batch,
        )
        durable_op = max(self._superblock.vouch.op, self._superblock.checkpoint.op)
        if durable_op > chain.op:
            text = f"the superblock proves that everything up to op {durable_op} was durable"
            end = msgspec.structs.replace(
                end, end_class=EndClass.FAULTY, case=6, reason=f"{reason}; {text}"
            )
        if self._is_alone and end.case == 6:
            raise _acknowledged_data_lost(end)
        if self._is_alone and not end.is_certain:
            self._check_readable(end.place)
        return end

    def _sound(self, evidence: Evidence, segment: int) -> Evidence:
        """Return the evidence without a next batch that may be something else."""
        batch = evidence.next_batch
        # An end in doubt was given up: what was behind it may lie there still. And in another
        # segment it may be the very frame in question, which did not fit where the damage is.
        if batch is None or (self._superblock.unknown is None and batch.segment == segment):
            return evidence
        return msgspec.structs.replace(evidence, next_batch=None)

    def _check_readable(self, place: Place) -> None:
        """An error of the disk is no end of the log: what lies there may read well next time."""
        behind = [where for where in self._unreadable if where >= (place.file, place.offset)]
        if not behind:
            return
        raise DirectoryRefused(
            f"{place}: the disk reports errors when it is read here (in {min(behind)[0]}, from byte"
            f" {min(behind)[1]} on). Whether acknowledged data lies there cannot be told. Nothing"
            " was opened or changed. Mend the disk or its connection and open again, or restore"
            " this directory from a backup."
        )


def _acknowledged_data_lost(end: LogEnd) -> AcknowledgedDataLost:
    positions = [str(end.place)]
    witness = ""
    if end.witness is not None:
        witness = f" (witness: {end.witness})"
        positions.append(str(end.witness))
    return AcknowledgedDataLost(
        f"{end.place}: {end.reason}{witness}. The log is whole up to op {end.op}; batches after"
        " it were acknowledged and are damaged or missing. Nothing was opened or changed."
        " Restore this directory from a backup.",
        positions,
    )


def load_headers(read: Read, files: Iterable[str], superblock: Superblock) -> list[SegmentHeader]:
    """Return the headers of all segments from the log's base on, which must be gapless."""
    base = superblock.base.segment
    numbers = sorted(
        number for name in files if (number := segment_number(name)) is not None and number >= base
    )
    for expected, number in enumerate(numbers or [base + 1], start=base):
        if expected != number:
            name = segment_name(expected)
            raise AcknowledgedDataLost(
                f"{name}: the file is missing. Restore this directory from a backup.",
                [f"{name}, byte 0, op {superblock.base.op + 1 if expected == base else 0}"],
            )
    newest = numbers[-1] if numbers else base
    if newest < superblock.segment_max:
        name = segment_name(newest + 1)
        raise AcknowledgedDataLost(
            f"{name}: the file is missing, and segments up to {superblock.segment_max} were made."
            " What it held cannot be told. Restore this directory from a backup.",
            [f"{name}, byte 0, op 0"],
        )
    return [_load_header(read, number, superblock) for number in numbers]


def _load_header(read: Read, number: int, superblock: Superblock) -> SegmentHeader:
    name = segment_name(number)
    blocks: list[bytes | None] = [
        read_blocks(read, name, copy * BLOCK_SIZE, BLOCK_SIZE) for copy in range(HEADER_COPIES)
    ]
    try:
        header = choose_header(blocks)
    except BadSegment as bad:
        if bad.fault in (SegmentFault.OTHER_FORMAT, SegmentFault.UNKNOWN_FLAGS):
            raise DirectoryRefused(
                f"{name}: {bad.fault}. The log was written by a later build; open the directory"
                " with that one."
            ) from None
        raise AcknowledgedDataLost(
            f"{name}, byte 0: {bad.fault}, in all copies of the header. What the file held"
            " cannot be told. Restore this directory from a backup.",
            [f"{name}, byte 0, op 0"],
        ) from None
    ours = (number, superblock.group_id, superblock.incarnation)
    if (header.number, header.group_id, header.incarnation) != ours:
        raise DirectoryRefused(
            f"{name}: the file belongs to another place or directory (it says segment"
            f" {header.number}). Put back the right file."
        )
    _check_whole(read, header)
    return header


def _check_whole(read: Read, header: SegmentHeader) -> None:
    """Refuse a file that is shorter than it was made: what its end held cannot be told.

    Without this the end that is gone would read as zeros, and no witness is left in it.
    """
    last = header.size_bytes - BLOCK_SIZE
    try:
        is_whole = len(read(header.file, last, BLOCK_SIZE)) == BLOCK_SIZE
    except OSError:
        return  # It is there and unreadable: the scan says what that means.
    if not is_whole:
        raise AcknowledgedDataLost(
            f"{header.file}: the file was cut short, it was made with {header.size_bytes} bytes."
            " What its end held cannot be told. Nothing was opened or changed. Restore this"
            " directory from a backup.",
            [f"{header.file}, byte {last}, op 0"],
        )
