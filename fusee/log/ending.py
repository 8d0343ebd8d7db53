"""How a log ends: what the scan found at the first place that does not continue the chain.

The three classes are the point of the format (S-9). *Torn* needs positive proof, a unit
with a provably older tag; a bad checksum alone is never torn. docs/internals/log.md holds
the table that the cases number.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from fusee.log.superblock import BatchId


class EndClass(StrEnum):
    """What is known about the batch after the head."""

    TORN = "T"
    """Never completely written, hence never acknowledged: the head is certain."""
    FAULTY = "F"
    """It was written and is damaged; its identity is known or it was acknowledged."""
    UNKNOWN = "U"
    """It may have been written and acknowledged; nothing proves either."""


class Place(msgspec.Struct, frozen=True, gc=False):
    """A place in the log, for people and for the next write."""

    segment: int
    file: str
    offset: int
    op: int

    def __str__(self) -> str:
        return f"{self.file}, byte {self.offset}, op {self.op}"


class LogEnd(msgspec.Struct, frozen=True):
    """Where the log ends and why. `place` is of the first batch that is not there.

    The next frame goes to `write_segment` and `write_offset`, or to the start of a later
    segment if it does not fit. `op`, `hash`, `view` and `ts_us` are the head's; `local_seq`,
    `prev_local` and `boot_count` are of the last accepted frame, which the next one chains
    to (I-8), wherever a torn one lies.
    """

    op: int
    hash: bytes
    view: int
    ts_us: int
    local_seq: int
    prev_local: bytes
    boot_count: int
    witnessed_op: int
    seq_max: int
    write_segment: int
    write_offset: int
    place: Place
    end_class: EndClass
    case: int
    reason: str
    identity: BatchId | None = None
    """Of the damaged batch, where its header could still be read."""
    witness: Place | None = None

    @property
    def is_certain(self) -> bool:
        """Whether nothing above the head was ever acknowledged here."""
        return self.end_class is EndClass.TORN

    @property
    def report(self) -> str:
        """One line for the operator; empty when the log simply ends."""
        if self.case == 1:
            return ""
        return f"{self.place}: case {self.case}, class {self.end_class}: {self.reason}"
