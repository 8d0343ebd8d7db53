"""The tag in every 512-byte unit: what tells torn, stale and damaged apart by proof.

A frame is written to one disk as units of 504 content bytes and an 8-byte tag:

    39 bits local_seq | 1 bit last unit of its frame | 24 bits check

The check is a function of local_seq, the last bit, whether the unit is the first of its
frame, the unit's number in its file, and the file's key. A unit whose check holds was
written here, by us, for that local_seq; a unit that landed elsewhere, or rotted, fails it
(but for 1 in 2^23). Only the writer sets tags, so content that imitates a frame header can
never be taken for one: it lacks the first-unit mark.

`local_seq` only grows, over restarts and over the lives of a recycled file, so a valid tag
below the one expected *proves* that the newer write never reached the unit. The proof is
in docs/internals/log.md, "Provably older". It is kept in 39 bits and compared by serial
arithmetic, sound while one log spans less than 2^38 frames (1 PiB at the least).

The mix of the unit number is linear over XOR, so the tags of a block are one base and eight
constants, not eight hashes.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from fusee.base.limits import BLOCK_SIZE, SEGMENT_SIZE, UNIT_SIZE

TAG_SIZE: Final = 8
UNIT_CONTENT: Final = UNIT_SIZE - TAG_SIZE
BLOCK_UNITS: Final = BLOCK_SIZE // UNIT_SIZE
BLOCK_CONTENT: Final = BLOCK_UNITS * UNIT_CONTENT

SEQ_MASK: Final = (1 << 39) - 1
_HALF: Final = 1 << 38
_CHECK_MASK: Final = (1 << 24) - 1
_U64: Final = (1 << 64) - 1
_MULTIPLIER: Final = 0x9E3779B97F4A7C15

FIRST_MARK: Final = 0xC3A5_5A
"""XORed into the check of a frame's first unit."""
LAST_MARK: Final = 1 << 24 | 0x3C5A_A5
"""XORed into the tag of a frame's last unit: the bit itself, and its part of the check."""

BLOCK: Final = Struct("<" + f"{UNIT_CONTENT}sQ" * BLOCK_UNITS)
BLOCK_TAGS: Final = Struct("<" + f"{UNIT_CONTENT}xQ" * BLOCK_UNITS)
UNIT_TAG: Final = Struct("<Q")

assert UNIT_CONTENT == 504
assert BLOCK_UNITS == 8
assert BLOCK.size == BLOCK_SIZE
assert SEGMENT_SIZE // UNIT_SIZE <= 1 << 17, "the mix of unit numbers must stay within the check"


def mix(unit: int) -> int:
    """Spread a unit number over 24 bits: injective below 2^17, and linear over XOR."""
    return unit ^ unit << 7


MIX: Final = tuple(mix(unit) for unit in range(BLOCK_UNITS))


def tag_base(local_seq: int, file_key: int) -> int:
    """Return the part of a frame's tags that does not depend on the unit."""
    seq = local_seq & SEQ_MASK
    return seq << 25 | ((seq ^ file_key) * _MULTIPLIER & _U64) >> 40


def is_older(seq: int, than: int) -> bool:
    """Say whether a tag's 39-bit seq is before the local_seq `than`."""
    return seq != than & SEQ_MASK and (than - seq) & SEQ_MASK < _HALF


class UnitTag:
    """What one tag says, if its check holds for the unit and file it was read from."""

    __slots__ = ("is_first", "is_last", "is_valid", "seq")

    def __init__(self, tag: int, unit: int, file_key: int) -> None:
        self.seq = tag >> 25
        self.is_last = bool(tag >> 24 & 1)
        expected = tag_base(self.seq, file_key) ^ mix(unit)
        if self.is_last:
            expected ^= LAST_MARK
        difference = tag ^ expected
        self.is_first = difference == FIRST_MARK
        # A discarded block reads as zeros, and must not pass for an old unit by chance.
        self.is_valid = tag != 0 and difference in (0, FIRST_MARK)
