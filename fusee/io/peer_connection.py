"""One TCP connection to another replica: a socket around a `Session`.

Nothing here waits and nothing queues without bound. A peer that takes no bytes is sent no more
than `PEER_QUEUE_BYTES_MAX` of them: what comes then is dropped and counted, and the protocol asks
for it again. Who connects and does not agree on a hello in time is hung up on.
"""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any, Protocol, cast

from fusee.base.limits import PEER_QUEUE_BYTES_MAX
from fusee.io.tls import names_of

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from fusee.vr.messages import AnyMessage
    from fusee.wire.session import Session

HELLO_S = 2.0
"""How long the other side may take to say who it is."""
SILENT_S = 2
"""A connection on which nothing was acknowledged for so long is dead, whatever its socket says."""


class ConnectionOwner(Protocol):
    """Who is told what becomes of a connection. All of it on the connection's loop."""

    def made(self, connection: PeerConnection) -> None:
        """The socket is connected, and nothing was said."""
        ...

    def agreed(self, connection: PeerConnection) -> None:
        """Both sides know each other."""
        ...

    def heard(self, connection: PeerConnection, message: AnyMessage) -> None:
        """The peer has said something."""
        ...

    def ended(self, connection: PeerConnection) -> None:
        """The connection is gone; `connection.session.ended` may say why. Told once."""
        ...

    def failed(self, error: BaseException) -> None:
        """Handling a message has raised: nothing that follows may be trusted."""
        ...


class PeerConnection(asyncio.Protocol):
    """Either side of one connection."""

    session: Session
    """Made when the socket is connected: TLS tells only then who it is."""

    def __init__(
        self,
        owner: ConnectionOwner,
        make_session: Callable[[frozenset[str] | None], Session],
        *,
        hello_s: float = HELLO_S,
    ) -> None:
        self.address = ""
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._owner = owner
        self._make_session = make_session
        self._hello_s = hello_s
        self._transport: asyncio.Transport | None = None
        self._deadline: asyncio.TimerHandle | None = None

    # ------------------------------------------------------------ asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is connected, and TLS agreed where there is any."""
        # A cast: the transports of uvloop are no subclasses of asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self.address = _text_of(transport.get_extra_info("peername"))
        _tune(transport.get_extra_info("socket"))
        self.session = self._make_session(_names_of(transport.get_extra_info("ssl_object")))
        loop = asyncio.get_running_loop()
        self._deadline = loop.call_later(self._hello_s, self._hello_is_due)
        self._send_output()
        self._owner.made(self)

    def data_received(self, data: bytes) -> None:
        """Bytes have come."""
        session = self.session
        was_agreed = session.peer is not None
        messages = session.receive(data)
        self._send_output()
        try:
            if session.peer is not None and not was_agreed:
                self._forget_deadline()
                self._owner.agreed(self)
            for message in messages:
                self._owner.heard(self, message)
        except BaseException as error:
            # The loop would only log it. The replica that raised must not go on.
            self._owner.failed(error)
            if not isinstance(error, Exception):
                raise
        if session.is_over:
            self.close()

    def eof_received(self) -> bool | None:
        """The other side says no more: so does this one."""
        self.session.finish()
        return None

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is closed, in order or not."""
        self._forget_deadline()
        self._transport = None
        if not self.gone.done():
            self.gone.set_result(None)
        self._owner.ended(self)

    # ------------------------------------------------------------ the owner

    def send(self, message: AnyMessage) -> bool:
        """Send a message if there is room for it; say whether there was."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return False
        frame = self.session.frame_of(message)
        waiting = transport.get_write_buffer_size()
        if waiting and waiting + len(frame) > PEER_QUEUE_BYTES_MAX:
            return False
        transport.write(frame)
        return True

    def close(self) -> None:
        """Hang up, after what was said."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Hang up at once."""
        if self._transport is not None:
            self._transport.abort()

    def _hello_is_due(self) -> None:
        self._deadline = None
        self.abort()

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _send_output(self) -> None:
        output = self.session.take_output()
        if output and self._transport is not None:
            self._transport.write(output)


def _tune(sock: Any) -> None:
    """No delay for small messages; a peer whose machine is gone is noticed, also when idle."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        ("TCP_KEEPIDLE", 1),
        ("TCP_KEEPINTVL", 1),
        ("TCP_KEEPCNT", SILENT_S),
        ("TCP_USER_TIMEOUT", SILENT_S * 1000),
    ):
        if hasattr(socket, option):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def _names_of(tls: ssl.SSLObject | None) -> frozenset[str] | None:
    """Return the DNS names in the other's certificate; None where there is no TLS."""
    return None if tls is None else names_of(tls.getpeercert() or {})


def _text_of(address: tuple[Any, ...] | None) -> str:
    return f"{address[0]}:{address[1]}" if address else "nobody"
