"""Asking the owner of a directory, from another process. Blocking: a command asks one thing."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING

from fusee.admin.address import SOCKET_FILE, owner_address
from fusee.admin.messages import Answer, Request, decode_answer, encode_message
from fusee.base.limits import ADMIN_ANSWER_BYTES_MAX
from fusee.wire.frame import BadFrame, FrameDecoder, FrameFault, FrameKind, encode_frame

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType
    from typing import Self

_READ_BYTES = 256 * 1024
_CONNECT_AGAIN_S = 0.01


class NoOwner(Exception):
    """Nobody listens in this directory."""


class OwnerLost(Exception):
    """There was an owner, but no answer. `was_sent`: it may have done what was asked."""

    def __init__(self, message: str, *, was_sent: bool) -> None:
        super().__init__(message)
        self.was_sent = was_sent


class Owner:
    """A connection to the process that owns a directory."""

    def __init__(self, connection: socket.socket, timeout_s: float) -> None:
        self._connection = connection
        self._timeout_s = timeout_s

    @classmethod
    def connect(cls, directory: Path, timeout_s: float) -> Owner:
        """Connect. Raises `NoOwner`, `OwnerLost` when it does not take us, other OSErrors."""
        deadline = time.monotonic() + timeout_s
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with owner_address(directory) as address:
                _connect(connection, address, deadline)
        except (FileNotFoundError, ConnectionRefusedError):
            connection.close()
            raise NoOwner(f"nobody listens at {directory / SOCKET_FILE}") from None
        except BaseException:
            connection.close()
            raise
        return cls(connection, timeout_s)

    def ask(self, request: Request) -> Answer:
        """Send one request and wait for its answer. Raises `OwnerLost`."""
        deadline = time.monotonic() + self._timeout_s
        was_sent = False
        try:
            self._connection.settimeout(self._timeout_s)
            self._connection.sendall(encode_frame(FrameKind.REQUEST, encode_message(request)))
            was_sent = True
            return decode_answer(self._receive(deadline))
        except TimeoutError:
            text = f"the owner did not answer within {self._timeout_s:g} s"
            raise OwnerLost(text, was_sent=was_sent) from None
        except BadFrame as bad:
            text = f"the owner's answer is not understood ({bad}); is it another version?"
            raise OwnerLost(text, was_sent=was_sent) from None
        except OSError as error:
            text = f"the connection to the owner broke ({error.strerror or error})"
            raise OwnerLost(text, was_sent=was_sent) from None

    def _receive(self, deadline: float) -> bytearray:
        decoder, body = FrameDecoder(), bytearray()
        while True:
            while (frame := decoder.take()) is None:
                self._connection.settimeout(max(deadline - time.monotonic(), 0.001))
                data = self._connection.recv(_READ_BYTES)
                if not data:
                    decoder.finish()
                    raise ConnectionResetError("it ended without an answer")
                decoder.feed(data)
            body += frame.body
            if len(body) > ADMIN_ANSWER_BYTES_MAX:
                raise BadFrame(FrameFault.TOO_LARGE)
            if frame.kind is FrameKind.LAST:
                return body
            if frame.kind is not FrameKind.PART:
                raise BadFrame(FrameFault.UNEXPECTED_KIND, frame.kind.name)

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _connect(connection: socket.socket, address: str, deadline: float) -> None:
    """Connect, waiting while the owner has as many callers as it takes."""
    while True:
        connection.settimeout(max(deadline - time.monotonic(), 0.001))
        try:
            connection.connect(address)
        except (BlockingIOError, TimeoutError):
            # On UNIX sockets a full backlog is an error at once, whatever the timeout.
            if time.monotonic() >= deadline:
                text = "the owner takes no connection: it is busy, or its loop stands still"
                raise OwnerLost(text, was_sent=False) from None
            time.sleep(_CONNECT_AGAIN_S)
        else:
            return
