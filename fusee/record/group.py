"""A group: the records one run appends in one turn. The unit of atomicity.

    section of a shard = msgpack array of groups
    group              = [workflow id, ordinal, marks, records]

The records stay undecoded (`msgspec.Raw`) until somebody needs them: reopening a log
looks at ids and marks only, so its cost does not depend on what the records hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fusee.record.kinds import AnyRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

STARTS = 1
"""Mark: the group begins a run."""
CLOSES = 2
"""Mark: the group ends a run."""

_ARRAY32 = 0xDD


class Group(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One run's records of one turn, as read from a log."""

    workflow_id: str
    ordinal: int
    marks: int
    records: msgspec.Raw


_encode = msgspec.msgpack.Encoder().encode
_decode_section = msgspec.msgpack.Decoder(list[Group]).decode
_decode_records = msgspec.msgpack.Decoder(list[AnyRecord]).decode


def encode_records(records: Sequence[AnyRecord]) -> bytes:
    """Return the records as one msgpack array."""
    return _encode(records)


def decode_records(data: bytes | memoryview | msgspec.Raw) -> list[AnyRecord]:
    """Return the records of a group. Raises `msgspec.ValidationError` on foreign bytes."""
    return _decode_records(data)


def encode_group(workflow_id: str, ordinal: int, marks: int, records: bytes) -> bytes:
    """Return a group around records that are encoded already."""
    return _encode((workflow_id, ordinal, marks, msgspec.Raw(records)))


def encode_section(groups: Sequence[bytes]) -> bytes:
    """Return a shard's section: the groups, in order, as one msgpack array."""
    return b"".join((bytes((_ARRAY32,)), len(groups).to_bytes(4, "big"), *groups))


def decode_section(data: bytes | memoryview) -> list[Group]:
    """Return the groups of a section. Raises `msgspec.MsgspecError` on foreign bytes."""
    return _decode_section(data)
