"""What operators ask the process that owns a directory, and what it answers.

Structs with tags, as msgpack in frames (`fusee.wire.frame`). Fields are only ever appended,
each with a default, so that a command of one release can talk to an engine of another.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from fusee.engine.listing import Wanted
from fusee.engine.views import JournalEntry, RunInfo, RunRow
from fusee.wire.frame import BadFrame, FrameFault


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """Base of all requests and answers."""


# ---------------------------------------------------------------- requests


class AskInfo(Message, frozen=True, tag="info"):
    """Who are you?"""


class AskRuns(Message, frozen=True, tag="runs"):
    """Which runs are there?"""

    wanted: Wanted = Wanted()


class AskRun(Message, frozen=True, tag="run"):
    """What is this run, and what has it done? Without an ordinal: the newest of the ID."""

    id: str
    ordinal: int | None = None


class SendSignal(Message, frozen=True, tag="signal"):
    """Send a signal. `payload` is JSON, empty for None; the same `signal_id` is one signal."""

    id: str
    name: str
    payload: bytes
    signal_id: str
    ordinal: int | None = None


class AskQuery(Message, frozen=True, tag="query"):
    """Ask a run's query handler. `payload` is JSON, empty for None."""

    id: str
    name: str
    payload: bytes
    ordinal: int | None = None


Request = AskInfo | AskRuns | AskRun | SendSignal | AskQuery

# ---------------------------------------------------------------- answers


class OwnerInfo(Message, frozen=True, tag="info"):
    """The process that owns a directory. `refused` counts refused frames by reason."""

    pid: int
    version: str
    workflows: list[str]
    open_runs: int
    held_runs: int
    refused: dict[str, int] = {}


class Runs(Message, frozen=True, tag="runs"):
    """Runs, newest start first."""

    rows: list[RunRow]


class Shown(Message, frozen=True, tag="run"):
    """One run and its operations, both of one moment."""

    info: RunInfo
    journal: list[JournalEntry]


class Signalled(Message, frozen=True, tag="signal"):
    """The signal is durable. `value_differs`: its ID was known with another value, which stands."""

    value_differs: bool = False


class Answered(Message, frozen=True, tag="query"):
    """What the query handler returned, as JSON; empty for None."""

    payload: bytes


class RefusalKind(StrEnum):
    """Why there is no other answer. The values are on the wire: never rename one."""

    NOT_FOUND = "not_found"
    FINISHED = "finished"
    BACKLOGGED = "backlogged"
    OVERLOADED = "overloaded"
    STORAGE_FULL = "storage_full"
    INVALID = "invalid"
    HELD = "held"
    UNKNOWN_HANDLER = "unknown_handler"
    FAILED = "failed"
    """The query handler raised."""
    CLOSING = "closing"
    """The engine takes no calls any more; nothing was done."""
    STOPPED = "stopped"
    """The engine stopped during the call, which may or may not have taken effect."""
    BAD_FRAME = "bad_frame"
    TOO_LARGE = "too_large"
    INTERNAL = "internal"


class Refused(Message, frozen=True, tag="refused"):
    """No answer, and why; `text` is for people."""

    kind: str
    text: str


Answer = OwnerInfo | Runs | Shown | Signalled | Answered | Refused

_encode = msgspec.msgpack.Encoder().encode
_decode_request = msgspec.msgpack.Decoder(Request).decode
_decode_answer = msgspec.msgpack.Decoder(Answer).decode
_FOREIGN = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def encode_message(message: Request | Answer) -> bytes:
    """Return the body of the frames that carry a message."""
    return _encode(message)


def decode_request(body: bytes) -> Request:
    """Return a request. Raises `BadFrame` on foreign bytes."""
    try:
        return _decode_request(body)
    except _FOREIGN as error:
        raise BadFrame(FrameFault.BAD_BODY, str(error)) from None


def decode_answer(body: bytes | bytearray) -> Answer:
    """Return an answer. Raises `BadFrame` on foreign bytes."""
    try:
        return _decode_answer(body)
    except _FOREIGN as error:
        raise BadFrame(FrameFault.BAD_BODY, str(error)) from None
