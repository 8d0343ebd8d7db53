"""A play over one log on a disk of 512-byte units: boots, frames, torn ends, damage.

    play.open()
    play.append()                 acknowledged
    play.tear(0, 2)               power is lost in the next write; only these units landed
    play.append()
    play.open()                   judged by the oracle, whatever it says

Every opening is compared with what the oracle says of the platters, and with what was told
to whoever appended.
"""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING

import msgspec

from fusee.base.errors import EngineError
from fusee.base.limits import KIB, UNIT_SIZE
from fusee.io.file_log import FileLog
from fusee.io.log_files import NewGroup
from fusee.log import superblock as sb
from fusee.log.batch import build_batch
from fusee.log.segment import SegmentSizes
from fusee.log.superblock import BatchId, Checkpoint
from fusee.testing.checkers.recoverable import forecast
from fusee.testing.checkers.reopened import check_opened, check_refused
from fusee.testing.checkers.written import Written
from fusee.testing.device import PowerLost
from fusee.testing.disk import Disk
from sim.misread import MisreadDevice
from sim.scenarios import ScenarioFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from fusee.io.file_log import Recovered
    from fusee.log.batch import Batch

    Done = Callable[[BaseException | None], None]

GROUP, INCARNATION = bytes(range(16)), bytes(range(16, 32))
SIZES = SegmentSizes(first_bytes=32 * KIB, next_bytes=64 * KIB)


class LogPlay:
    """One directory through any number of boots."""

    def __init__(self) -> None:
        self.disk = Disk()
        self.device: MisreadDevice
        self.log: FileLog
        self.recovered: Recovered
        self.violations: list[str] = []
        self.refusal: EngineError | None = None
        """What the last opening said instead of opening."""
        self._written = Written()
        self._known: list[Batch] = []
        self._acknowledged = 0
        self._boot_count = self._view = 0
        self._tears: set[int] | None = None
        self._misread: tuple[str, int, int] | None = None

    # ------------------------------------------------------------ boots

    def open(self) -> bool:
        """Open what the platters hold, and judge it; say whether it opened."""
        device = self.device = MisreadDevice(self.disk, watcher=self._written)
        if self._misread is not None:
            device.misread_block(*self._misread)
            self._misread = None
        is_new = sb.FILE not in self.disk.names
        said = None if is_new else forecast(self.disk, self._written)
        found: list[Batch] = []
        self.refusal = None
        try:
            self.recovered = FileLog.open(
                device,
                submitter=self,
                on_batch=found.append,
                now_us=1_000,
                format_new=NewGroup(GROUP, INCARNATION),
                sizes=SIZES,
            )
        except EngineError as refusal:
            self.refusal = refusal
            if said is not None and not device.misread:
                # Who was told something wrong may doubt everything.
                self.violations += check_refused(said, refusal)
            return False
        self.log = self.recovered.log
        if said is not None:
            known, seq_max = self._known, self._written.seq_max
            self.violations += check_opened(said, self.recovered, found, known, seq_max)
        self._judge(len(found))
        return True

    def _judge(self, count: int) -> None:
        """Compare with what was told: the oracle does not see that the code wrote too little."""
        end, booted = self.recovered.end, self.recovered.superblock
        head = booted.base.op + count
        lost = self._acknowledged - head
        if lost > 0 and end.is_certain:
            self.violations.append(f"{lost} acknowledged batches are lost without a word")
        if lost > 1:
            self.violations.append(f"opened, though {lost} acknowledged batches are lost")
        if booted.boot_count <= self._boot_count or booted.view < self._view:
            self.violations.append(
                f"boot {booted.boot_count} in view {booted.view} follows boot"
                f" {self._boot_count} in view {self._view}"
            )
        self._boot_count, self._view = booted.boot_count, booted.view
        self._written.accept(end.prev_local)
        del self._known[head:]
        self._acknowledged = head

    def lead(self) -> None:
        """Take up the next view, as a replica does before it is normal."""
        superblock = self.log.superblock
        view = superblock.view + 1
        vouch = BatchId(self.log.head_op, self.log.head_hash)
        self.log.save_superblock(
            msgspec.structs.replace(superblock, view=view, log_view=view, vouch=vouch)
        )
        self._view = view

    # ------------------------------------------------------------ frames

    def append(self, size: int = 100) -> None:
        """Append a batch; acknowledged, unless power was to be lost."""
        op = self.log.head_op + 1
        content = op.to_bytes(4, "little") + bytes(i * op & 0xFF for i in range(size))
        batch = build_batch(
            GROUP, 1, self._view, op, self.log.head_hash, op - 1, op * 5_000, [(0, content)]
        )
        self._known.append(batch)
        with suppress(PowerLost):
            self.log.submit(batch, self.log.durable_op, self._told)
            self._acknowledged = self.log.durable_op
            if self._written.done_op != self._acknowledged:
                self.violations.append(
                    f"the log says that {self._acknowledged} is durable, and the disk was heard"
                    f" to say {self._written.done_op}"
                )

    def seal(self) -> None:
        """Write a witness of everything that is durable."""
        with suppress(PowerLost):
            self.log.submit_seal(self.log.durable_op, self._told)

    def fill(self, size: int = 3_000) -> None:
        """Append until the next segment is entered."""
        segment = self.log._writer.file
        while self.log._writer.file == segment:
            self.append(size)

    def prepare(self) -> None:
        """Make the next segment now, unless power is lost in between."""
        with suppress(PowerLost):
            self.log.prepare_ahead(is_needed=True)

    def trim(self, before_op: int) -> None:
        """Let go of whole segments before a batch, which must be there afterwards."""
        checkpoint = Checkpoint(self.log.durable_op, self.log.head_hash)
        with suppress(PowerLost):
            self.log.trim(before_op, checkpoint)
            try:
                batches = self.log.read(before_op, 1)
            except LookupError:
                batches = []
            if [batch.op for batch in batches] != [before_op]:
                self.violations.append(f"batch {before_op} is gone, which the trim was to keep")

    def tear(self, *units: int) -> None:
        """Lose power in the next write, of which only these units land."""
        self._tears = set(units)

    def submit(self, file: str, offset: int, data: memoryview, on_done: Done) -> None:
        """Be the log's submitter: write here and now."""
        write = self.device.begin(file, offset, data)
        if self._tears is None:
            self.device.complete(write)
            on_done(None)
            return
        for unit in self._tears:
            start = unit * UNIT_SIZE
            write.file.put(offset + start, write.data[start : start + UNIT_SIZE])
        self._tears = None
        self.device.power_off()
        raise PowerLost

    def _told(self, error: BaseException | None) -> None:
        if error is not None:
            self.violations.append(f"a write failed: {error!r}")

    # ------------------------------------------------------------ damage

    def frame(self, op: int) -> tuple[str, int]:
        """Return the file and the first unit of the frame that carries a batch."""
        for frame in reversed(self._written.frames):
            if frame.batch_op == op:
                names = self.disk.names.items()
                name = next(name for name, file in names if file.number == frame.file)
                return name, frame.offset // UNIT_SIZE
        raise ScenarioFailed(f"no frame carries batch {op}")

    def garble(self, op: int, *units: int) -> None:
        """Let units of a batch's frame hold bytes that nobody wrote."""
        name, first = self.frame(op)
        random = Random(op)
        for unit in units:
            self.disk.garble(name, first + unit, random)

    def flip(self, op: int, byte: int) -> None:
        """Let one bit of a batch's frame rot."""
        name, first = self.frame(op)
        self.disk.flip_bit(name, first * UNIT_SIZE + byte, 3)

    def misread(self, op: int, good_reads: int) -> None:
        """Let the next opening once get another block for the first one of a batch's frame."""
        name, first = self.frame(op)
        self._misread = name, first * UNIT_SIZE, good_reads

    def misread_now(self, op: int, good_reads: int) -> None:
        """Let the log that is open get another block once, in the same way."""
        name, first = self.frame(op)
        self.device.misread_block(name, first * UNIT_SIZE, good_reads)

    def check(self) -> None:
        """Raise `ScenarioFailed` unless every opening was right."""
        if self.violations:
            raise ScenarioFailed("\n  ".join(dict.fromkeys(self.violations)))

    def expect_opening(self) -> None:
        """Open what nothing but crashes has touched, which must work."""
        if not self.open():
            self.violations.append(f"refused, and nothing is damaged: {self.refusal}")

    def expect_refusal(self, kind: type[EngineError]) -> None:
        """Open, which must be refused so."""
        if self.open():
            self.violations.append(f"opened, and should have raised {kind.__name__}")
        elif not isinstance(self.refusal, kind):
            self.violations.append(f"refused with {self.refusal!r} instead of {kind.__name__}")
