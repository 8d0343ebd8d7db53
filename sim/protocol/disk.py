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
from fusee.vr.messages import NOTHING, Place
from fusee.vr.ready import Install, Rewrite, Save, Write
from fusee.vr.tail import Entry, LogTail, entry_of

if TYPE_CHECKING:
    from random import Random

    from fusee.log.batch import Batch

Duty = Save | Write | Install | Rewrite


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
        elif isinstance(duty, Install):
            del self.frames[duty.base.op :]
            self.frames += [Frame(batch) for batch in duty.batches]
            self.bracket = (duty.view, duty.start)
        else:
            self._rewrite(duty.batch)

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


def _entry(frame: Frame) -> Entry:
    if frame.condition is Condition.WHOLE:
        return entry_of(frame.batch, Place.DURABLE)
    batch = frame.batch
    return Entry(batch.op, batch.hash, batch.prev, Place.DAMAGED, None)
