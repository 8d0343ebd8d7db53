"""The log of one directory: recovery at open, then frames, seals, segments and the superblock.

Belongs to one thread, the owner's. `submit` encodes into memory that the device lends and
hands it to a `Submitter`, which writes here or on a thread of its own and reports back on
the owner's. One write is in flight at a time.

A failed write stops the log for ever (S-8): nobody knows what the disk holds, so nothing is
retried and everything later raises `EngineStopped`.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Protocol

import msgspec

from fusee.base.checksum import NO_HASH
from fusee.base.errors import DirectoryRefused, EngineStopped, StorageFull
from fusee.io.log_files import (
    NewGroup,
    ensure_first_segment,
    format_directory,
    is_storage_low,
    load_spares,
    load_superblock,
    make_segment,
    retire_segment,
    save_superblock,
)
from fusee.io.read_ahead import ReadAhead
from fusee.io.recovered import Recovered
from fusee.log.boot import next_boot
from fusee.log.device import NotBegun
from fusee.log.frame import FrameKind, encode_frame_into, frame_bytes
from fusee.log.index import read_batches
from fusee.log.scan import LogScan
from fusee.log.segment import SegmentSizes
from fusee.log.superblock import Checkpoint
from fusee.log.writer import writer_behind

if TYPE_CHECKING:
    from collections.abc import Callable

    from fusee.log.batch import Batch
    from fusee.log.device import Device
    from fusee.log.superblock import Stored, Superblock
    from fusee.log.writer import LogWriter, Preparation

    Done = Callable[[BaseException | None], None]
    _Held = tuple[int, int, bytes, bytes, int, Done]


class Submitter(Protocol):
    """Gets frames onto the disk; the real ones write inline or on a writer thread."""

    def submit(self, file: str, offset: int, data: memoryview, on_done: Done) -> None:
        """Write durably, then call `on_done` on the owner's thread, with the error if any.

        `data` is the device's buffer and stays untouched until then.
        """
        ...


class LogTrimmed(LookupError):
    """The batch asked for lies before the log's base."""


class FileLog:
    """The open log of one directory. Made by `open`."""

    def __init__(
        self, device: Device, submitter: Submitter, writer: LogWriter, stored: Stored
    ) -> None:
        self._device = device
        self._submitter = submitter
        self._writer = writer
        self._stored = stored
        self._log_view = stored.superblock.log_view
        self._held: _Held | None = None
        self._writing_seq = 0
        self._on_done: Done = _nobody
        self.failed: BaseException | None = None
        """What stopped the log for ever."""

    @classmethod
    def open(
        cls,
        device: Device,
        *,
        submitter: Submitter,
        on_batch: Callable[[Batch], None],
        now_us: int,
        format_new: NewGroup | None = None,
        sizes: SegmentSizes | None = None,
        is_alone: bool = True,
        reads_ahead: bool = False,
    ) -> Recovered:
        """Open the directory, handing every batch to `on_batch` in order of op.

        With `reads_ahead` a thread reads while batches are checked and handed over. An empty
        directory is formatted as `format_new`. Raises `DirectoryRefused` or
        `AcknowledgedDataLost`; but for repaired superblock copies nothing is changed then.
        """
        sizes = sizes or SegmentSizes()
        loaded = load_superblock(device)
        if loaded is not None:
            stored, repaired = loaded
        elif format_new is not None:
            stored, repaired = format_directory(device, format_new, now_us=now_us), []
        else:
            raise DirectoryRefused(
                "superblock: there is none; this is not a Fusee directory. Check the path."
            )
        is_new = stored.superblock.boot_count == 0
        ensure_first_segment(device, stored.superblock, sizes)
        with ReadAhead(device.read) if reads_ahead else nullcontext(device) as reader:
            scan = LogScan(reader.read, device.files(), stored.superblock, is_alone=is_alone)
            for batch in scan.batches():
                on_batch(batch)
        end = scan.confirm(device.read)
        booted = next_boot(stored.superblock, end, scan.newest_segment)
        spares = load_spares(device, booted)
        stored = save_superblock(device, booted, stored)
        writer = writer_behind(scan, spares, booted, sizes)
        log = cls(device, submitter, writer, stored)
        return Recovered(log, booted, end, booted.ts_us, tuple(repaired), is_new)

    # ------------------------------------------------------------ state

    is_instant = False

    @property
    def superblock(self) -> Superblock:
        """The superblock as it is on disk."""
        return self._stored.superblock

    @property
    def head_op(self) -> int:
        """Op of the last batch submitted."""
        return self._writer.head_op

    @property
    def head_hash(self) -> bytes:
        """Hash of the last batch submitted."""
        return self._writer.head_hash

    @property
    def file(self) -> str:
        """The segment that is being written."""
        return self._writer.file

    @property
    def durable_op(self) -> int:
        """Highest op up to which everything is durable on this disk."""
        return self._writer.durable_op

    @property
    def busy(self) -> bool:
        """Whether a write is in flight, or waits for the segment that it goes to."""
        return self._writer.in_flight_count > 0 or self._held is not None

    @property
    def wants_seal(self) -> bool:
        """Whether something is durable that no later frame witnesses yet (S-7)."""
        return self._writer.wants_seal

    @property
    def is_storage_low(self) -> bool:
        """Whether starts should be refused for want of space. Asks the file system."""
        return is_storage_low(self._device)

    def fail(self, cause: BaseException) -> None:
        """Stop the log for ever; the first cause is kept."""
        if self.failed is None:
            self.failed = cause

    def _check_running(self) -> None:
        if self.failed is not None:
            raise EngineStopped(f"the log has stopped: {self.failed}", self.failed)

    # ------------------------------------------------------------ frames

    def submit(self, batch: Batch, durable_op: int, on_done: Done) -> None:
        """Start writing the next batch. `durable_op` is what was durable before (S-1).

        A batch that no longer fits waits while somebody makes the next segment, also when there
        are no descriptors for it now. Raises `StorageFull` if there is no space.
        """
        writer = self._writer
        assert batch.op == writer.head_op + 1
        assert batch.prev == writer.head_hash
        self._write(FrameKind.BATCH, batch.op, batch.hash, batch.data, durable_op, on_done)

    def submit_seal(self, durable_op: int, on_done: Done) -> None:
        """Start writing a seal, which witnesses `durable_op` (S-7)."""
        self._write(FrameKind.SEAL, self._writer.head_op, NO_HASH, b"", durable_op, on_done)

    def _write(
        self, kind: int, op: int, body_hash: bytes, body: bytes, durable_op: int, on_done: Done
    ) -> None:
        if self.failed is not None:
            self._check_running()
        assert not self.busy, "one write in flight"
        writer = self._writer
        size_bytes = frame_bytes(len(body))
        if writer.offset + size_bytes > writer.size_bytes:
            held = (kind, op, body_hash, body, durable_op, on_done)
            if writer.leaves_doubt:
                self.submit_seal(durable_op, partial(self._covered, held))
                return
            if writer.is_preparing or not self._roll(size_bytes):
                self._held = held
                return
        offset = writer.offset
        buffer = self._device.buffer(size_bytes)
        digest = encode_frame_into(
            buffer,
            offset,
            writer.file_key,
            kind=kind,
            boot_count=writer.boot_count,
            local_seq=writer.next_seq,
            log_gen=writer.log_gen,
            accept_view=self._log_view,
            durable_op=durable_op,
            op=op,
            prev_local=writer.prev_local,
            body_hash=body_hash,
            body=body,
        )
        batch_hash = body_hash if kind == FrameKind.BATCH else None
        self._writing_seq = writer.begin(digest, size_bytes, durable_op, op, batch_hash)
        self._on_done = on_done
        self._submitter.submit(writer.file, offset, buffer, self._written)

    def _written(self, error: BaseException | None) -> None:
        if error is not None:
            self.fail(error)
        else:
            self._writer.finish(self._writing_seq)
        self._on_done(error)

    def _covered(self, held: _Held, error: BaseException | None) -> None:
        """A seal lies where the log was in doubt: the frame that does not fit there goes on."""
        if error is None:
            self._write(*held)
        else:
            *_, on_done = held
            on_done(error)

    def _roll(self, size_bytes: int) -> bool:
        """Enter the next segment; it is made here and now only if nobody made it ahead.

        Say whether it could be. Where not, whoever makes segments ahead goes on trying.
        """
        writer = self._writer
        if not writer.is_prepared:
            try:
                self.prepare_ahead(is_needed=True)
            except NotBegun:
                return False
        writer.roll()
        assert writer.has_room(size_bytes), "a frame must fit an empty segment"
        return True

    # ------------------------------------------------------------ segments

    def plan_ahead(self, *, is_needed: bool = False) -> Preparation | None:
        """Say how the next segment is to be made, None if there is nothing to do now."""
        self._check_running()
        return self._writer.plan_next(is_needed=is_needed)

    def carry_out(self, preparation: Preparation) -> None:
        """Make the segment. Touches the device only, so it may run on any thread."""
        make_segment(self._device, preparation)

    def adopt(self, preparation: Preparation, error: BaseException | None = None) -> None:
        """Take the segment that `carry_out` made, or learn how that failed.

        Without space nothing was written, so the log goes on with what it has; a batch that
        waits for the segment fails. Without a descriptor the batch waits for another attempt.
        """
        if error is None:
            error = self._note_segment(preparation)
        else:
            self._writer.abandon(preparation)
            if isinstance(error, NotBegun) and self.failed is None:
                return
        held, self._held = self._held, None
        if error is not None and (held is not None or not isinstance(error, StorageFull)):
            self.fail(error)
        if held is None:
            return
        if self.failed is not None:
            *_, on_done = held
            on_done(self.failed)
        else:
            self._write(*held)

    def _note_segment(self, preparation: Preparation) -> BaseException | None:
        """Enter a segment in the superblock before its first frame; return why that failed.

        A segment file that is deleted later is missed at open by this entry.
        """
        number = preparation.header.number
        self._writer.adopt(preparation)
        if self.failed is None:
            try:
                self.save_superblock(msgspec.structs.replace(self.superblock, segment_max=number))
            except BaseException as error:
                return error  # save_superblock has failed the log
        return self.failed

    def prepare_ahead(self, *, is_needed: bool = False) -> bool:
        """Make the next segment here if it is due; say whether one was made."""
        preparation = self.plan_ahead(is_needed=is_needed)
        if preparation is None:
            return False
        try:
            self.carry_out(preparation)
        except BaseException as error:
            self.adopt(preparation, error)
            raise
        self.adopt(preparation)
        if self.failed is not None:
            raise self.failed
        return True

    def trim(self, before_op: int, checkpoint: Checkpoint | None = None) -> int:
        """Let go of segments that hold only batches below `before_op`; return how many.

        The base is saved before a file is touched, together with the checkpoint that allows it.
        """
        self._check_running()
        superblock = self.superblock
        if checkpoint is not None:
            superblock = msgspec.structs.replace(superblock, checkpoint=checkpoint)
        trim = self._writer.plan_trim(before_op)
        if trim is None:
            return 0
        assert trim.base.op <= superblock.checkpoint.op, "the base never passes the checkpoint"
        self.save_superblock(msgspec.structs.replace(superblock, base=trim.base))
        try:
            for header in trim.headers:
                retire_segment(self._device, header.number)
        except BaseException as error:
            self.fail(error)
            raise
        self._writer.trim(trim)
        return len(trim.headers)

    # ------------------------------------------------------------ reading, promises

    def read(self, from_op: int, bytes_max: int) -> list[Batch]:
        """Return durable batches from `from_op` on: up to `bytes_max`, but at least one.

        Empty if there is none yet. Raises `LogTrimmed` below the base of the log, OSError where
        the disk cannot be read now, and `AcknowledgedDataLost` where it can be and holds
        something else. The log goes on: what it writes does not depend on what was read.
        """
        durable_op = self._writer.durable_op
        if from_op > durable_op:
            return []
        mark = self._writer.index.find(from_op)
        if mark is None:
            raise LogTrimmed(f"batch {from_op} is before the log's base")
        return read_batches(
            self._device.read,
            self._writer.starts,
            mark,
            self.superblock,
            from_op=from_op,
            to_op=durable_op,
            bytes_max=bytes_max,
        )

    def save_superblock(self, superblock: Superblock) -> None:
        """Make new promises durable; return when enough copies read back as written."""
        self._check_running()
        before = self.superblock
        assert superblock.boot_count == before.boot_count
        assert superblock.seq_floor == before.seq_floor
        assert superblock.view >= max(before.view, superblock.log_view)
        try:
            self._stored = save_superblock(self._device, superblock, self._stored)
        except BaseException as error:
            self.fail(error)
            raise
        self._log_view = superblock.log_view


def _nobody(error: BaseException | None) -> None:
    raise AssertionError("a write has ended that nobody began")
