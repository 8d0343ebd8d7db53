"""One connection between two replicas, without the connection: bytes in, events and bytes out.

    caller     start ──Hello──>
    listener            ──────> answer ──Welcome──>  then messages both ways
                                       ──Refused──>  then nothing

A session believes nothing: what is no frame, too large, out of turn, damaged, or no message of
the protocol ends it with a named fault. The driver sends `take_output()`, and hangs up once
`is_over`; whoever called tries again later, since the protocol repeats what matters.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec

from fusee.base.limits import HELLO_BYTES_MAX, WIRE_FRAME_BYTES_MAX
from fusee.vr.messages import AnyMessage, BadMessage
from fusee.vr.messages import decode as decode_message
from fusee.vr.messages import encode as encode_message
from fusee.wire.frame import BadFrame, FrameDecoder, FrameFault, FrameKind, encode_frame
from fusee.wire.hello import (
    Hello,
    Peer,
    Purpose,
    Refusal,
    Refused,
    Self,
    Welcome,
    answer,
    check_welcome,
    hello_of,
)

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

CHECKSUM_SIZE = 8


class Ended(msgspec.Struct, frozen=True):
    """Why a session is over. `reason` is a word for counters, `text` is for people."""

    reason: FrameFault | Refusal
    text: str
    is_refusal_of_theirs: bool = False
    """The other side has refused; this one would have gone on."""


_encode = msgspec.msgpack.Encoder().encode
_decode_hello = msgspec.msgpack.Decoder(Hello).decode
_decode_answer = msgspec.msgpack.Decoder(Welcome | Refused).decode


class Session:
    """Either side of one connection. `peer` is known once both have agreed."""

    def __init__(
        self,
        me: Self,
        names: AbstractSet[str] | None,
        *,
        wants: int | None = None,
        purpose: Purpose = Purpose.PROTOCOL,
    ) -> None:
        """`wants` is the slot that is called; None on the listening side.

        `names` are the subjectAltNames of the other's certificate, None without TLS.
        """
        self.peer: Peer | None = None
        self.ended: Ended | None = None
        self._me = me
        self._names = names
        self._wants = wants
        self._purpose = purpose
        self._decoder = FrameDecoder(HELLO_BYTES_MAX)
        self._output: list[bytes] = []
        if wants is not None:
            self._say(hello_of(me, wants, purpose))

    @property
    def is_over(self) -> bool:
        """Whether to hang up, once the output is sent."""
        return self.ended is not None

    def take_output(self) -> bytes:
        """Return what is to be sent now, and forget it."""
        output, self._output = b"".join(self._output), []
        return output

    def receive(self, data: bytes) -> list[AnyMessage]:
        """Take bytes that have come; return the messages that are whole now, in order."""
        if self.is_over:
            return []
        heard: list[AnyMessage] = []
        self._decoder.feed(data)
        try:
            while self.ended is None and (frame := self._decoder.take()) is not None:
                if self.peer is None:
                    self._greet(frame.kind, frame.body)
                else:
                    heard.append(self._message(frame.kind, frame.body))
        except BadFrame as bad:
            self.ended = Ended(bad.fault, str(bad))
        return heard

    def finish(self) -> None:
        """The stream has ended."""
        if self.is_over:
            return
        try:
            self._decoder.finish()
        except BadFrame as bad:
            self.ended = Ended(bad.fault, str(bad))

    def frame_of(self, message: AnyMessage) -> bytes:
        """Return the bytes that carry a message to this peer. The session is agreed."""
        assert self.peer is not None, "nobody has been let in yet"
        return message_frame(self._me.group_id, encode_message(message))

    # ------------------------------------------------------------ the hello

    def _greet(self, kind: FrameKind, body: bytes) -> None:
        if kind is not FrameKind.HELLO:
            raise BadFrame(FrameFault.UNEXPECTED_KIND, kind.name)
        try:
            if self._wants is None:
                self._answer(_decode_hello(body))
            else:
                self._hear_answer(self._wants, _decode_answer(body))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise BadFrame(FrameFault.BAD_BODY, str(error)) from None

    def _answer(self, hello: Hello) -> None:
        said = answer(self._me, hello, self._names)
        self._say(said)
        if isinstance(said, Refused):
            self.ended = Ended(said.reason, said.text)
        else:
            self._agree(Peer(hello.slot, hello.incarnation, hello.epoch, hello.purpose))

    def _hear_answer(self, wants: int, said: Welcome | Refused) -> None:
        if isinstance(said, Refused):
            self.ended = Ended(said.reason, said.text, is_refusal_of_theirs=True)
            return
        refused = check_welcome(self._me, wants, said, self._names)
        if refused is not None:
            self.ended = Ended(refused.reason, refused.text)
        else:
            self._agree(Peer(said.slot, said.incarnation, said.epoch, self._purpose))

    def _agree(self, peer: Peer) -> None:
        self.peer = peer
        self._decoder.body_bytes_max = WIRE_FRAME_BYTES_MAX

    def _say(self, words: Hello | Welcome | Refused) -> None:
        self._output.append(encode_frame(FrameKind.HELLO, _encode(words)))

    # ------------------------------------------------------------ messages

    def _message(self, kind: FrameKind, body: bytes) -> AnyMessage:
        assert self.peer is not None
        if kind is not FrameKind.MESSAGE or self.peer.purpose is not Purpose.PROTOCOL:
            raise BadFrame(FrameFault.UNEXPECTED_KIND, kind.name)
        data = memoryview(body)[CHECKSUM_SIZE:]
        if body[:CHECKSUM_SIZE] != _checksum(self._me.group_id, data):
            raise BadFrame(FrameFault.DAMAGED)
        try:
            return decode_message(data)
        except BadMessage as error:
            raise BadFrame(FrameFault.BAD_BODY, str(error)) from None


def message_frame(group_id: bytes, message: bytes) -> bytes:
    """Return the frame that carries an encoded message within a group."""
    return encode_frame(FrameKind.MESSAGE, _checksum(group_id, message) + message)


def _checksum(group_id: bytes, data: bytes | memoryview) -> bytes:
    return blake2b(data, digest_size=CHECKSUM_SIZE, key=group_id).digest()
