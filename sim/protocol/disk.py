"""The disk of one member, as the protocol sees it: promises, frames, and what a crash leaves.

The byte level shows that the real log behaves like this; here only the consequences count.
A frame is whole, damaged with its identity known, or unreadable at the end. A bracket lands
as a whole or not at all, and brings its log view with it (I-3).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from fusee.log.superblock import BatchId, Unknown
from fusee.vr.catch_up import fitting
from fusee.vr.messages import NOTHING, Place
from fusee.vr.ready import Install, ReadLog, Rewrite, Save, Stage, Write
from fusee.vr.tail import Entry, LogTail, entry_of

if TYPE_CHECKING:
    from random import Random

    from fusee.log.batch import Batch

Duty = Save | Write | Stage | Install | Rewrite


class Condition(Enum):
    """What can be read of a frame."""

    WHOLE = "whole"
    DAMAGED = "damaged"
    """Its identity is known: its header is whole, or a later frame names it."""
    UNREADABLE = "unreadable"
    """Nothing is known. Only the last frame can be so: behind it lies nothing whole."""


@dataclass(slots=True)
class Frame:
    """One batch on the disk."""

    batch: Batch
    condition: Condition = Condition.WHOLE


@dataclass(slots=True)
class MemberDisk:
    """What survives. `log_view` and `vouch` are those of the superblock."""

    view: int = 0
    log_view: int = 0
    vouch: BatchId = NOTHING
    unknown: Unknown | None = None
    frames: list[Frame] = field(default_factory=list[Frame])
    bracket: tuple[int, BatchId] = (0, NOTHING)
    """View and start of the newest complete bracket."""
    staged: tuple[BatchId, list[Batch]] = (NOTHING, [])
    """What lies behind which batch in a bracket that is not closed."""

    def apply(self, duty: Duty) -> None:
        """Let one write be durable."""
        if isinstance(duty, Save):
            self.view, self.log_view = duty.view, duty.log_view
            self.vouch, self.unknown = duty.vouch, duty.unknown
        elif isinstance(duty, Write):
            op = duty.batch.op
            assert op <= len(self.frames) + 1, "a frame behind a gap"
            del self.frames[op - 1 :]
            self.frames.append(Frame(duty.batch))
        elif isinstance(duty, Stage):
            if duty.after == duty.base:
                self.staged = (duty.base, [])
            base, batches = self.staged
            assert duty.after == (_id(batches[-1]) if batches else base), "staged behind a gap"
            batches += duty.batches
        elif isinstance(duty, Install):
            self._install(duty)
        else:
            self._rewrite(duty.batch)

    def _install(self, install: Install) -> None:
        batches = list(install.batches)
        if install.staged != install.base:
            base, staged = self.staged
            assert (base, _id(staged[-1])) == (install.base, install.staged), "nothing such staged"
            batches = staged + batches
        del self.frames[install.base.op :]
        self.frames += [Frame(batch) for batch in batches]
        self.bracket = (install.view, install.start)

    def read(self, asked: ReadLog) -> list[Batch]:
        """Return what can be read of what a member asked for."""
        if asked.after is None:
            found = ((wanted, self._whole(wanted.op)) for wanted in asked.wanted)
            return [batch for wanted, batch in found if batch and batch.hash == wanted.hash]
        before = self._whole(asked.after.op)
        if asked.after.op and (before is None or before.hash != asked.after.hash):
            return []
        return fitting(self._whole(op) for op in range(asked.after.op + 1, asked.until_op + 1))

    def _whole(self, op: int) -> Batch | None:
        frame = self.frames[op - 1] if 0 < op <= len(self.frames) else None
        return frame.batch if frame is not None and frame.condition is Condition.WHOLE else None

    def _rewrite(self, batch: Batch) -> None:
        if batch.op <= len(self.frames):
            frame = self.frames[batch.op - 1]
            if frame.batch.hash == batch.hash:
                frame.condition = Condition.WHOLE

    def land(self, duty: Duty, random: Random, may_be_garbage: bool) -> None:
        """Let a write that was cut off by a crash land, or not, or as garbage."""
        if random.random() < 0.5:
            self.apply(duty)
        elif isinstance(duty, Write) and may_be_garbage:
            self.apply(duty)
            self.frames[-1].condition = Condition.UNREADABLE

    def boot(self) -> None:
        """What an opening makes durable before the replica begins.

        A bracket that is complete is in force (I-3), and a doubt about the end is noted before
        anything overwrites it (S-11).
        """
        self.staged = (NOTHING, [])
        view, start = self.bracket
        if self.log_view < view <= self.view:
            self.log_view, self.vouch, self.unknown = view, start, None
        last = len(self.frames)
        if last and self.frames[-1].condition is Condition.UNREADABLE:
            self.frames.pop()
            self.unknown = Unknown(last, self.log_view)
        elif self.unknown is not None and last >= self.unknown.op:
            self.unknown = None

    def rot(self, op: int) -> None:
        """Let the body of a batch be unreadable, its identity known."""
        self.frames[op - 1].condition = Condition.DAMAGED

    def rot_end(self) -> None:
        """Let nothing of the last frame be readable."""
        self.frames[-1].condition = Condition.UNREADABLE

    def tail(self) -> LogTail:
        """Return the log as a scan finds it."""
        return LogTail(NOTHING, [_entry(frame) for frame in self.frames])

    def holds(self, batch: BatchId) -> bool:
        """Whether everything up to a batch is whole on this disk, and it is that batch."""
        if batch.op > len(self.frames):
            return False
        whole = all(frame.condition is Condition.WHOLE for frame in self.frames[: batch.op])
        return whole and (not batch.op or self.frames[batch.op - 1].batch.hash == batch.hash)


def _id(batch: Batch) -> BatchId:
    return BatchId(batch.op, batch.hash)


def _entry(frame: Frame) -> Entry:
    if frame.condition is Condition.WHOLE:
        return entry_of(frame.batch, Place.DURABLE)
    batch = frame.batch
    return Entry(batch.op, batch.hash, batch.prev, Place.DAMAGED, None)
