"""Frames: how messages follow one another on a byte stream between two processes.

    "fz" | version 1 | kind 1 | body length 4, little endian | body

A receiver believes nothing: a wrong first byte, another version, an unknown kind or a length
over the limit is refused with a named reason as soon as it is seen, and nothing is allocated
for bytes that have not come. A stream on one host loses no bytes, so a frame has no checksum;
what travels between hosts brings its own.

An answer may be longer than a frame: it comes as PARTs and ends with LAST.
"""

from __future__ import annotations

import struct
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

import msgspec

from fusee.base.limits import WIRE_FRAME_BYTES_MAX, WIRE_PART_BYTES_MAX

if TYPE_CHECKING:
    from collections.abc import Iterator

MAGIC = b"fz"
VERSION = 1
_HEADER = struct.Struct("<2sBBI")
HEADER_SIZE = _HEADER.size


class FrameKind(IntEnum):
    """What a frame is. Numbers are never reused."""

    REQUEST = 1
    PART = 2
    """A piece of an answer that another follows."""
    LAST = 3
    """The last piece of an answer, or all of it."""
    HELLO = 4
    """The first frame of a connection between replicas, either way."""
    MESSAGE = 5
    """Of the group's protocol, behind a checksum."""


class FrameFault(StrEnum):
    """Why bytes were refused."""

    NOT_A_FRAME = "not a frame"
    OTHER_VERSION = "another version"
    UNKNOWN_KIND = "unknown kind"
    TOO_LARGE = "too large"
    CUT_OFF = "cut off"
    UNEXPECTED_KIND = "unexpected kind"
    DAMAGED = "damaged"
    """Its checksum does not fit."""
    BAD_BODY = "bad body"
    """The frame is whole, but its body is no message that may come here."""


class BadFrame(Exception):
    """Bytes that are no frame, or a frame that does not belong here. The stream is useless now."""

    def __init__(self, fault: FrameFault, text: str = "") -> None:
        super().__init__(f"{fault}: {text}" if text else str(fault))
        self.fault = fault


class Frame(msgspec.Struct, frozen=True, gc=False):
    """One frame as received."""

    kind: FrameKind
    body: bytes


def encode_frame(kind: FrameKind, body: bytes | memoryview) -> bytes:
    """Return one frame."""
    assert len(body) <= WIRE_FRAME_BYTES_MAX, f"a frame of {len(body)} bytes passed its checks"
    return _HEADER.pack(MAGIC, VERSION, kind, len(body)) + body


def encode_parts(body: bytes, part_bytes_max: int = WIRE_PART_BYTES_MAX) -> Iterator[bytes]:
    """Yield the frames of one answer, however long it is."""
    view = memoryview(body)
    while len(view) > part_bytes_max:
        yield encode_frame(FrameKind.PART, view[:part_bytes_max])
        view = view[part_bytes_max:]
    yield encode_frame(FrameKind.LAST, view)


class FrameDecoder:
    """Takes bytes as they come and gives back whole frames. Keeps at most one frame and a feed."""

    def __init__(self, body_bytes_max: int = WIRE_FRAME_BYTES_MAX) -> None:
        self.body_bytes_max = body_bytes_max
        self._buffer = bytearray()
        self._bad: BadFrame | None = None

    @property
    def is_between_frames(self) -> bool:
        """Whether everything that came has been taken."""
        return not self._buffer and self._bad is None

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        if self._bad is None:
            self._buffer += data

    def take(self) -> Frame | None:
        """Return the next whole frame, None until more bytes come.

        Raises `BadFrame`, then and ever after: where a bad stream goes on cannot be told.
        """
        if self._bad is not None:
            raise self._bad
        buffer = self._buffer
        fault = self._fault_of_header()
        if fault is not None:
            raise self._give_up(fault)
        if len(buffer) < HEADER_SIZE:
            return None
        _, _, kind, body_bytes = _HEADER.unpack_from(buffer)
        end = HEADER_SIZE + body_bytes
        if len(buffer) < end:
            return None
        with memoryview(buffer) as view:
            body = bytes(view[HEADER_SIZE:end])
        del buffer[:end]
        return Frame(FrameKind(kind), body)

    def finish(self) -> None:
        """The stream has ended. Raises `BadFrame` when that was within a frame."""
        if self._bad is not None:
            raise self._bad
        if self._buffer:
            raise self._give_up(FrameFault.CUT_OFF)

    def _fault_of_header(self) -> FrameFault | None:
        """Return what is wrong with as much of the header as has come."""
        buffer = self._buffer
        if not MAGIC.startswith(bytes(buffer[:2])):
            return FrameFault.NOT_A_FRAME
        if len(buffer) > 2 and buffer[2] != VERSION:
            return FrameFault.OTHER_VERSION
        if len(buffer) > 3 and buffer[3] not in _KINDS:
            return FrameFault.UNKNOWN_KIND
        if len(buffer) >= HEADER_SIZE:
            body_bytes = _HEADER.unpack_from(buffer)[3]
            if body_bytes > self.body_bytes_max:
                return FrameFault.TOO_LARGE
        return None

    def _give_up(self, fault: FrameFault) -> BadFrame:
        self._bad = BadFrame(fault)
        self._buffer.clear()
        return self._bad


_KINDS = frozenset(FrameKind)
