"""What one process does between its opening and its end, action by action.

A frame may be in flight while the next segment is made, a promise saved or the log read, as
in the product, where a writer thread and the owner work side by side.
"""

from __future__ import annotations

import errno
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import msgspec

from fusee.base.errors import AcknowledgedDataLost, EngineStopped, StorageFull
from fusee.base.ids import OpNumber
from fusee.base.limits import BLOCK_SIZE, MIB, UNIT_SIZE
from fusee.io.file_log import LogTrimmed
from fusee.log.batch import HEADER_SIZE, build_batch
from fusee.log.frame import FrameKind
from fusee.log.superblock import COPY_DISTANCE, BatchId, Checkpoint
from fusee.testing.disk import FREE_BYTES
from fusee.testing.seeds import stream
from sim.byte.atlas import rot
from sim.byte.foreign import OUR_GROUP
from sim.byte.world import Broken

if TYPE_CHECKING:
    from random import Random

    from fusee.io.file_log import FileLog
    from fusee.log.batch import Batch
    from fusee.log.writer import Preparation
    from fusee.testing.checkers.written import FrameWritten
    from sim.byte.plan import Plan
    from sim.byte.world import World

_SIZES: Final = (
    (HEADER_SIZE + 20, "size:empty"),
    (UNIT_SIZE, "size:below-unit"),
    (BLOCK_SIZE, "size:below-block"),
    (MIB, "size:over-block"),
)
CUT_OFF: Final = 0.1
_POOL: Final = stream(0, "content").randbytes(1 << 16)
_ACTIONS: Final = (
    ("append", 30),
    ("complete", 26),
    ("seal", 6),
    ("plan_ahead", 5),
    ("carry_out", 5),
    ("prepare", 3),
    ("trim", 2),
    ("promise", 2),
    ("read", 2),
    ("space", 1),
    ("rot", 1),
)
_NAMES: Final = [name for name, weight in _ACTIONS for _ in range(weight)]


def _size_mark(size_bytes: int) -> str:
    return next((mark for most, mark in _SIZES if size_bytes <= most), "size:near-cap")


class Worker:
    """The work of one seed; `begin` starts with each process."""

    def __init__(self, seed: int, plan: Plan, world: World) -> None:
        self._plan = plan
        self._world = world
        self._random = stream(seed, "work")
        self._faults = stream(seed, "work/faults")
        self._counter = 0
        self._planned: Preparation | None = None
        self._is_slow = False
        self._is_hung = False

    def begin(self) -> None:
        """A process begins; some have a disk that is slow."""
        self._planned = None
        self._is_slow = self._faults.random() < self._plan.rate("slow")
        self._is_hung = self._is_slow and self._faults.random() < 0.25
        if self._is_slow:
            self._world.fault("fault:hung" if self._is_hung else "fault:slow")
        self._world.disk.free_bytes = FREE_BYTES

    def step(self) -> None:
        """Do one thing. Raises `PowerLost`, and OSError or `EngineStopped` when the log ends."""
        world = self._world
        log = world.log
        assert log is not None
        world.counters["events"] += 1
        name = _NAMES[int(self._random.random() * len(_NAMES))]
        getattr(self, f"_{name}")(log, self._random)
        self._check_claim()
        if world.device.failure is not None and log.failed is None:
            raise Broken("a write failed and the log goes on")
        if log.failed is not None:
            raise EngineStopped("the log has failed", log.failed)
        world.promise()

    def _check_claim(self) -> None:
        """The newest frame says how far this disk was durable when it was handed over (S-1).

        With one write in flight that is everything before it.
        """
        frames = self._world.written.frames
        if frames:
            envelope = frames[-1].envelope
            before = envelope.op - (envelope.kind == FrameKind.BATCH)
            if envelope.durable_op != before:
                raise Broken(f"a frame behind op {before} claims {envelope.durable_op} durable")

    def append_plainly(self, count: int) -> None:
        """Append and acknowledge some batches, and a seal; nothing may go wrong."""
        log = self._world.log
        assert log is not None
        self._world.disk.free_bytes = FREE_BYTES
        for _ in range(count):
            self._world.t_us += 1
            batch = self._batch(log, self._random)
            self._world.known.append(batch)
            log.submit(batch, log.durable_op, self._acked_when_done(batch.op))
            while self._world.submitter.is_writing:  # A seal may have to come first (S-13).
                self._world.submitter.complete()
            if self._world.acked_op != batch.op:
                raise Broken(f"batch {batch.op} was not acknowledged on a sound disk")
        log.submit_seal(log.durable_op, lambda error: None)
        self._world.submitter.complete()
        self._world.promise()

    # ------------------------------------------------------------ frames

    def _append(self, log: FileLog, random: Random) -> None:
        world = self._world
        if log.busy:
            return
        batch = self._batch(log, random)
        world.known.append(batch)
        world.marks.hit(_size_mark(len(batch.data)))
        try:
            log.submit(batch, log.durable_op, self._acked_when_done(batch.op))
        except StorageFull:
            world.known.pop()
            world.marks.hit("storage-full:refused")
            return
        world.note("append", batch.op, len(batch.data))
        world.counters["batches"] += 1
        self._go_on(log, random)

    def _batch(self, log: FileLog, random: Random) -> Batch:
        self._counter += 1
        sizes = self._plan.batch_sizes
        size = sizes[int(random.random() * len(sizes))]
        if len(sizes) > 1 and size > 1000 and random.random() < 0.5:
            size = int(random.random() * size)
        content = self._counter.to_bytes(8, "little") + self._content(random, size)
        cut = int(random.random() * len(content)) if random.random() < 0.2 else len(content)
        sections = (
            [(3, content)] if cut == len(content) else [(3, content[:cut]), (9, content[cut:])]
        )
        return build_batch(
            OUR_GROUP,
            0,
            log.superblock.view,
            OpNumber(log.head_op + 1),
            log.head_hash,
            log.durable_op,
            self._world.t_us,
            sections,
            group_count=1,
        )

    def _content(self, random: Random, size: int) -> bytes:
        frames = self._world.written.frames
        if frames and random.random() < 0.05:
            # Content that imitates a frame, tags and all.
            return frames[-1].data[:size]
        if size > len(_POOL) // 2:
            return (_POOL * (size // len(_POOL) + 1))[:size]
        start = int(random.random() * (len(_POOL) - size))
        return _POOL[start : start + size]

    def _acked_when_done(self, op: int) -> Any:
        def done(error: BaseException | None) -> None:
            if error is not None:
                return
            if self._world.written.done_op != op:
                raise Broken(f"batch {op} was acknowledged before it was durable")
            self._world.acked_op = op

        return done

    def _go_on(self, log: FileLog, random: Random) -> None:
        """Let the write end at once, or leave it in flight."""
        if not self._is_slow and random.random() < self._plan.inline_share:
            self._complete(log, random)

    def _complete(self, log: FileLog, random: Random) -> None:
        world = self._world
        if not world.submitter.is_writing or self._is_hung:
            return
        if self._is_slow and random.random() < 0.8:
            return
        self._maybe_lie()
        world.submitter.complete()
        world.note("completed", log.durable_op)

    def _maybe_lie(self) -> None:
        """A disk that lies about a frame that nothing follows yet is beyond the atlas."""
        device, faults = self._world.device, self._faults
        if self._plan.is_beyond and faults.random() < self._plan.rate("lost") / 8:
            device.lose_after(0)

    def _seal(self, log: FileLog, random: Random) -> None:
        world = self._world
        if log.busy or not (log.wants_seal or random.random() < 0.1):
            return
        try:
            log.submit_seal(log.durable_op, lambda error: None)
        except StorageFull:
            return
        world.counters["seals"] += 1
        world.note("seal", log.durable_op)
        self._go_on(log, random)

    # ------------------------------------------------------------ segments

    def _plan_ahead(self, log: FileLog, random: Random) -> None:
        if self._planned is None:
            self._planned = log.plan_ahead(is_needed=random.random() < 0.3)

    def _carry_out(self, log: FileLog, random: Random) -> None:
        preparation, self._planned = self._planned, None
        if preparation is None:
            return
        world = self._world
        self._maybe_cut_off(preparation)
        try:
            log.carry_out(preparation)
        except (StorageFull, OSError) as error:
            world.marks.hit("preparation:failed")
            log.adopt(preparation, error)
            return
        how = "refilled" if preparation.is_refilled else "spare" if preparation.spare else "new"
        world.marks.hit(f"segment:{how}")
        world.note("segment", preparation.header.number, how)
        log.adopt(preparation)

    def _maybe_cut_off(self, preparation: Preparation) -> None:
        """Lose power while a segment is made, or before it is noted."""
        if self._faults.random() < CUT_OFF:
            calls = 1 if not preparation.spare else 2 - int(self._faults.random() * 2)
            self._world.device.crash_after(calls, self._world.crash)

    def _prepare(self, log: FileLog, random: Random) -> None:
        if self._planned is not None:
            return
        try:
            log.prepare_ahead(is_needed=random.random() < 0.3)
        except StorageFull:
            self._world.marks.hit("storage-full:prepare")

    def _trim(self, log: FileLog, random: Random) -> None:
        world = self._world
        op = log.durable_op
        base_op = log.superblock.base.op
        if op <= max(base_op, log.superblock.checkpoint.op):
            return
        before = base_op + int(random.random() * (op - base_op + 1))
        starts = [frame.batch_op for frame in self._first_frames() if base_op < frame.batch_op < op]
        if (
            starts and random.random() < 0.5
        ):  # The last batch of a segment, or the next one's first.
            before = starts[int(random.random() * len(starts))] - int(random.random() * 2)
        count = log.trim(before, Checkpoint(op, world.known[op - 1].hash))
        if log.superblock.base.op >= before > base_op:
            raise Broken(f"a trim was to keep batch {before}, and the log begins behind it")
        if count:
            world.marks.hit("log:trimmed")
            world.note("trim", before, count)

    def _first_frames(self) -> list[FrameWritten]:
        """Return the first frame with a batch of every segment but the oldest."""
        frames = [frame for frame in self._world.written.frames if frame.batch_op]
        return [new for old, new in pairwise(frames) if old.segment != new.segment]

    # ------------------------------------------------------------ promises, reading

    def _promise(self, log: FileLog, random: Random) -> None:
        world = self._world
        before = log.superblock
        view = before.view + int(random.random() * 2)
        op = log.durable_op
        vouch = before.vouch
        if op > before.base.op and random.random() < 0.3:
            vouch = BatchId(op, world.known[op - 1].hash)
        self._maybe_lose_copy()
        log.save_superblock(
            msgspec.structs.replace(before, view=view, log_view=view, vouch=vouch, commit_hint=op)
        )
        world.note("promise", view, vouch.op)

    def _maybe_lose_copy(self) -> None:
        device, faults = self._world.device, self._faults
        if faults.random() < self._plan.rate("superblock"):
            for _ in range(1 + int(faults.random() * 3)):
                device.lose_after(int(faults.random() * 4))
        elif faults.random() < self._plan.rate("misdirected"):
            device.misdirect_after(int(faults.random() * 4), COPY_DISTANCE)

    def _read(self, log: FileLog, random: Random) -> None:
        world = self._world
        from_op = 1 + int(random.random() * (log.durable_op + 1))
        bytes_max = int(random.random() * 40_000)
        # One block that is read wrongly during this read excuses nothing: it is read again.
        is_excused = world.disk.has_damage() or world.is_misled()
        failed_count = len(world.device.failed_reads)
        self._maybe_misread()
        try:
            found = log.read(from_op, bytes_max)
        except LogTrimmed:
            if from_op > log.superblock.base.op:
                raise Broken(f"batch {from_op} is above the base and cannot be read") from None
            return
        except AcknowledgedDataLost as error:
            world.marks.hit("read:lost")
            if not is_excused:
                raise Broken(f"nothing is damaged, and a read fails: {error}") from error
            return
        except OSError as error:
            # A read that fails beside it, as the disk was told at the opening, is one too many.
            if not is_excused and len(world.device.failed_reads) == failed_count:
                raise Broken(f"every block reads well, and a read fails: {error}") from error
            return
        wanted = world.known[from_op - 1 : from_op - 1 + len(found)]
        if [batch.data for batch in found] != [batch.data for batch in wanted]:
            raise Broken(f"a read from op {from_op} returned something else than was written")
        if not found and from_op <= log.durable_op:
            raise Broken(f"a read from op {from_op} returned nothing")
        world.counters["reads"] += 1

    def _maybe_misread(self) -> None:
        faults = self._faults
        frames = [frame for frame in self._world.written.frames if frame.is_done]
        if not frames or faults.random() >= self._plan.rate("misread"):
            return
        frame = frames[int(faults.random() * len(frames))]
        for name, file in self._world.disk.names.items():
            if file.number == frame.file:
                self._world.device.misread_block(name, frame.offset, 0)

    # ------------------------------------------------------------ faults of a running disk

    def _space(self, log: FileLog, random: Random) -> None:
        world, faults = self._world, self._faults
        disk = world.disk
        if disk.free_bytes != FREE_BYTES:
            disk.free_bytes = FREE_BYTES
        elif faults.random() < self._plan.rate("no-space") * 2:
            disk.free_bytes = 0
            world.fault("fault:no-space")
        elif faults.random() < self._plan.rate("write-error"):
            code = errno.ENOSPC if faults.random() < 0.3 else errno.EIO
            world.device.fail_after(int(faults.random() * 6), faults, code)

    def _rot(self, log: FileLog, random: Random) -> None:
        """A cold unit rots while the process runs."""
        world, faults = self._world, self._faults
        frames = [frame for frame in world.written.frames if frame.is_done]
        if not frames or faults.random() >= self._plan.rate("rot"):
            return
        frame = frames[int(faults.random() * len(frames))]
        names = {file.number: name for name, file in world.disk.names.items()}
        offset = frame.offset + int(faults.random() * len(frame.data))
        rot(world.disk, names[frame.file], offset, int(faults.random() * 8))
        world.fault("fault:rot-while-running")
