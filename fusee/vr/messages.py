"""What the members of a group say to each other about the log.

Every message carries the epoch and the view it was said in; who said it comes from the
connection, never from the message. Batches travel as their canonical bytes and prove
themselves by their hash; what does not decode is refused by `decode` and counted by the
transport.

Paper: Liskov and Cowling, VR Revisited (2012), figure 2 and section 4. We differ: a view
change sends what a log holds above its commit position by identity and condition, and
bodies are asked for one by one; there is no recovery protocol, because promises are durable.
"""

from __future__ import annotations

from enum import IntEnum

import msgspec

from fusee.base.checksum import NO_HASH
from fusee.log.superblock import BatchId


class Place(IntEnum):
    """In what condition a replica has the body of a batch (docs/internals/replication.md)."""

    MEMORY = 0
    """Readable, not durable, hence never acknowledged."""
    DURABLE = 1
    DAMAGED = 2
    """Its identity is known, its body is not: perhaps acknowledged, so no nack."""


class Held(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One op of a log: which batch, in what condition. `prev` is empty where it is not known."""

    op: int
    hash: bytes
    prev: bytes
    place: Place = Place.DURABLE


class Message(
    msgspec.Struct, frozen=True, array_like=True, tag_field="type", gc=False, kw_only=True
):
    """What all messages say first."""

    epoch: int
    view: int


class Prepare(Message, frozen=True, tag=1):
    """The primary's next batch, and how far it knows the group to be decided."""

    batch: bytes
    commit: BatchId


class PrepareOk(Message, frozen=True, tag=2):
    """This member's disk holds everything up to `durable`. Also the answer to a heartbeat."""

    durable: BatchId
    head_op: int
    echo_ns: int = 0
    """`sent_ns` of the newest heartbeat that was heard; 0 if this answers none."""


class Commit(Message, frozen=True, tag=3):
    """The primary's heartbeat."""

    commit: BatchId
    head_op: int
    sent_ns: int


class ExitView(Message, frozen=True, tag=4):
    """The sender has not heard from the primary of `view` and would leave it (V-1)."""


class DoViewChange(Message, frozen=True, tag=5):
    """All that the new primary must know of one log to choose the log of `view` (8.2)."""

    log_view: int
    vouch: BatchId
    """Where the log of `log_view` began."""
    commit: BatchId
    head_op: int
    unknown_op: int
    """First op of which the sender cannot say whether it acknowledged it; 0 for none."""
    unknown_op_max: int
    """Last such op."""
    suffix: tuple[Held, ...]
    """Every op above `commit`, in order."""


class StartView(Message, frozen=True, tag=6):
    """The log of `view`, by identity: `links` are the ops above `base`."""

    start: BatchId
    """The head of the log with which the view began."""
    commit: BatchId
    base: BatchId
    links: tuple[Held, ...]


class GetView(Message, frozen=True, tag=7):
    """Tell me the log of `view` or of a later one."""


class GetBatches(Message, frozen=True, tag=8):
    """Send these batches; one that cannot be read is not answered (H-3)."""

    wanted: tuple[BatchId, ...]


class Batches(Message, frozen=True, tag=9):
    """Batches that were asked for by identity."""

    batches: tuple[bytes, ...]


class GetLog(Message, frozen=True, tag=10):
    """Send the log of `view` behind `after`; before the view has begun, what is decided of it."""

    after: BatchId


class LogRange(Message, frozen=True, tag=11):
    """Batches of the log of `view`, the first one right behind `after`."""

    after: BatchId
    batches: tuple[bytes, ...]
    commit: BatchId


AnyMessage = (
    Prepare
    | PrepareOk
    | Commit
    | ExitView
    | DoViewChange
    | StartView
    | GetView
    | GetBatches
    | Batches
    | GetLog
    | LogRange
)

NOTHING = BatchId(0, NO_HASH)
"""The identity of what lies before the first batch."""

encode = msgspec.msgpack.Encoder().encode
"""Return the bytes of a message."""
_decode = msgspec.msgpack.Decoder(AnyMessage).decode


class BadMessage(ValueError):
    """Foreign bytes are no message."""


def decode(data: bytes | memoryview) -> AnyMessage:
    """Return the message whose bytes these are. Raises `BadMessage`."""
    try:
        return _decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadMessage(str(error)) from None
