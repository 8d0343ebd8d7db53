"""A group: the records one run appends in one turn. The unit of atomicity.

    section of a shard = msgpack array of groups
    group              = [workflow id, ordinal, marks, records]

The records stay undecoded (`msgspec.Raw`) until somebody needs them: reopening a log
looks at ids and marks only, so its cost does not depend on what the records hold.

A run builds the head of its groups once (`group_head`) and glues records behind it: a
turn then costs one encoding and one copy.
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

_ARRAY4 = b"\x94"
SECTION_OF_ONE = b"\xdd\x00\x00\x00\x01"
"""What precedes the only group of a section."""
_ARRAY32 = b"\xdd"


class Group(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One run's records of one turn, as read from a log."""

    workflow_id: str
    ordinal: int
    marks: int
    records: msgspec.Raw


_encode = msgspec.msgpack.Encoder().encode
_decode_section = msgspec.msgpack.Decoder(list[Group]).decode
_decode_records = msgspec.msgpack.Decoder(list[AnyRecord]).decode
_split_journal = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode
_decode_journal = msgspec.msgpack.Decoder(list[list[AnyRecord]]).decode

encode_records = _encode
"""Return a list of records as one msgpack array."""


def group_head(workflow_id: str, ordinal: int, marks: int = 0) -> bytes:
    """Return the bytes of a group up to its records."""
    return b"".join((_ARRAY4, _encode(workflow_id), _encode(ordinal), _encode(marks)))


def with_marks(head: bytes, marks: int) -> bytes:
    """Return a head with other marks: they are its last byte."""
    return head[:-1] + bytes((marks,))


def encode_group(workflow_id: str, ordinal: int, marks: int, records: bytes) -> bytes:
    """Return a group around records that are encoded already."""
    return group_head(workflow_id, ordinal, marks) + records


def encode_section(groups: Sequence[bytes | memoryview]) -> bytes:
    """Return a shard's section: the groups, in order, as one msgpack array."""
    if len(groups) == 1:
        return SECTION_OF_ONE + groups[0]
    return b"".join((_ARRAY32, len(groups).to_bytes(4, "big"), *groups))


encode_journal = encode_section
"""Return all records of a run, turn by turn, as one array of arrays."""


def decode_records(data: bytes | memoryview) -> list[AnyRecord]:
    """Return the records of a group. Raises `msgspec.MsgspecError` on foreign bytes."""
    return _decode_records(data)


def decode_section(data: bytes | memoryview) -> list[Group]:
    """Return the groups of a section. Raises `msgspec.MsgspecError` on foreign bytes."""
    return _decode_section(data)


def decode_journal(data: bytes | memoryview) -> list[list[AnyRecord]]:
    """Return what `encode_journal` was given. Raises `msgspec.MsgspecError` on foreign bytes."""
    return _decode_journal(data)


def first_and_last(journal: bytes) -> tuple[memoryview, memoryview]:
    """Return the encoded first and last turn, without decoding what lies between."""
    turns = _split_journal(journal)
    return memoryview(turns[0]), memoryview(turns[-1])
