"""The connections of one replica to the others of its group, over TCP.

    peers = Peers(me, owner, tls)
    await peers.listen("10.0.0.1", 7001)
    peers.call({1: ("10.0.0.2", 7001)})       kept up from here on, come what may
    peers.send(1, message)                    now, or never: nothing waits for a connection

Of two replicas the one with the smaller slot calls, so there is one connection a pair; a new
one takes the place of the old. A connection that ends is a hint to the owner, no proof of
anything (N-11). Who calls again waits 5 ms, then longer, up to 200 ms.

Lives on one loop. Strangers are refused by name, counted, and logged once for each reason and
host; whatever they send, the group goes on.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from fusee.base.limits import STRANGERS_MAX
from fusee.io.peer_connection import HELLO_S, PeerConnection
from fusee.wire.session import Session

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from fusee.io.tls import Tls
    from fusee.vr.messages import AnyMessage
    from fusee.wire.hello import Self

LOGGER = logging.getLogger("fusee.peers")
AGAIN_S_MIN = 0.005
AGAIN_S_MAX = 0.2
CALL_S = 2.0
"""How long a call may take to be answered by the other's machine."""
_KNOWN_MAX = 256


class PeersOwner(Protocol):
    """Who the group's messages are for."""

    def on_message(self, slot: int, message: AnyMessage) -> None:
        """A member has said something."""
        ...

    def on_connected(self, slot: int) -> None:
        """A member can be spoken to."""
        ...

    def on_disconnected(self, slot: int) -> None:
        """The connection to a member has ended: perhaps it is dead."""
        ...

    def on_failure(self, error: BaseException) -> None:
        """One of these has raised. Nothing more is handed over."""
        ...


class Peers:
    """The mesh as one replica sees it."""

    def __init__(
        self,
        me: Self,
        owner: PeersOwner,
        random: Random,
        tls: Tls | None = None,
        *,
        hello_s: float = HELLO_S,
    ) -> None:
        self.me = me
        """What the next hello says; connections that are agreed stay."""
        self.refused: Counter[str] = Counter()
        """Connections that were refused or ended by a fault, by reason."""
        self.dropped: Counter[int] = Counter()
        """Messages that found no connection or no room, by slot."""
        self._owner = owner
        self._random = random
        self._tls = tls
        self._hello_s = hello_s
        self._up: dict[int, PeerConnection] = {}
        self._all: set[PeerConnection] = set()
        self._calls: dict[int, asyncio.Task[None]] = {}
        self._server: asyncio.Server | None = None
        self._known: set[tuple[str, str]] = set()
        self._has_failed = False

    @property
    def connected(self) -> frozenset[int]:
        """Slots of the members that can be spoken to."""
        return frozenset(self._up)

    # ------------------------------------------------------------ coming and going

    async def listen(self, host: str, port: int) -> int:
        """Begin to listen; return the port, which is another one where 0 was asked for.

        Raises OSError where the address cannot be had.
        """
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            self._listening_side,
            host,
            port,
            ssl=self._tls.listening if self._tls is not None else None,
            ssl_handshake_timeout=self._hello_s if self._tls is not None else None,
        )
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    def call(self, addresses: Mapping[int, tuple[str, int]]) -> None:
        """Keep up a connection to these members, and to no others.

        Members with a smaller slot are left out: they call.
        """
        wanted = {slot: address for slot, address in addresses.items() if slot > self.me.slot}
        for slot, task in list(self._calls.items()):
            task.cancel()
            del self._calls[slot]
        for slot, (host, port) in wanted.items():
            self._calls[slot] = asyncio.get_running_loop().create_task(
                self._keep_calling(slot, host, port)
            )

    async def close(self) -> None:
        """Hang up on everybody and listen no more. Idempotent."""
        if self._server is not None:
            self._server.close()
            self._server = None
        calls, self._calls = list(self._calls.values()), {}
        for task in calls:
            task.cancel()
        everybody = list(self._all)
        for connection in everybody:
            connection.abort()
        await asyncio.gather(*calls, return_exceptions=True)
        await asyncio.gather(*(connection.gone for connection in everybody))

    # ------------------------------------------------------------ messages

    def send(self, slot: int, message: AnyMessage) -> None:
        """Send a message to a member, if it can be spoken to now."""
        connection = self._up.get(slot)
        if connection is None or not connection.send(message):
            self.dropped[slot] += 1

    # ------------------------------------------------------------ calling

    async def _keep_calling(self, slot: int, host: str, port: int) -> None:
        again_s = AGAIN_S_MIN
        while True:
            connection = await self._call_once(slot, host, port)
            if connection is not None:
                await asyncio.shield(connection.gone)
                if connection.session.peer is not None:
                    again_s = AGAIN_S_MIN
            # Half of it by chance: replicas that were cut off together do not come together.
            await asyncio.sleep(again_s * (0.5 + self._random.random() / 2))
            again_s = min(2 * again_s, AGAIN_S_MAX)

    async def _call_once(self, slot: int, host: str, port: int) -> PeerConnection | None:
        loop = asyncio.get_running_loop()
        with suppress(OSError, TimeoutError):  # What TLS raises is an OSError too.
            async with asyncio.timeout(CALL_S):
                _, connection = await loop.create_connection(
                    lambda: self._connection(slot),
                    host,
                    port,
                    ssl=self._tls.calling if self._tls is not None else None,
                    server_hostname="" if self._tls is not None else None,
                )
                return connection
        return None

    def _listening_side(self) -> PeerConnection:
        return self._connection(None)

    def _connection(self, wants: int | None) -> PeerConnection:
        def make_session(names: frozenset[str] | None) -> Session:
            self._all.add(connection)
            return Session(self.me, names, wants=wants)

        connection = PeerConnection(self, make_session, hello_s=self._hello_s)
        return connection

    # ------------------------------------------------------------ ConnectionOwner

    def connected_to(self, connection: PeerConnection) -> bool:
        """Whether this is the connection to its member, and not one that was replaced."""
        peer = connection.session.peer
        return peer is not None and self._up.get(peer.slot) is connection

    def made(self, connection: PeerConnection) -> None:
        """A socket is connected: who has not said a hello is a stranger."""
        strangers = sum(1 for one in self._all if one.session.peer is None)
        if strangers > STRANGERS_MAX:
            self._refuse(connection, "too many without a hello")
            connection.abort()

    def agreed(self, connection: PeerConnection) -> None:
        """A member is there. If it was there already the old connection is void."""
        peer = connection.session.peer
        assert peer is not None
        before = self._up.get(peer.slot)
        self._up[peer.slot] = connection
        if before is not None:
            before.abort()
        self._owner.on_connected(peer.slot)

    def heard(self, connection: PeerConnection, message: AnyMessage) -> None:
        """A member has said something; what a replaced connection still brings is late."""
        peer = connection.session.peer
        assert peer is not None
        if not self._has_failed and self.connected_to(connection):
            self._owner.on_message(peer.slot, message)

    def ended(self, connection: PeerConnection) -> None:
        """A connection is gone."""
        self._all.discard(connection)
        ended, peer = connection.session.ended, connection.session.peer
        if ended is not None:
            self._refuse(connection, str(ended.reason), ended.text)
        if peer is None or not self.connected_to(connection):
            return
        del self._up[peer.slot]
        if not self._has_failed:
            try:
                self._owner.on_disconnected(peer.slot)
            except BaseException as error:
                self.failed(error)

    def failed(self, error: BaseException) -> None:
        """The owner has raised: hand nothing more to it."""
        if not self._has_failed:
            self._has_failed = True
            self._owner.on_failure(error)

    def _refuse(self, connection: PeerConnection, reason: str, text: str = "") -> None:
        self.refused[reason] += 1
        key = (reason, connection.address.rpartition(":")[0])
        if key not in self._known and len(self._known) < _KNOWN_MAX:
            self._known.add(key)
            LOGGER.warning(
                "connection with %s: %s%s", connection.address, reason, f": {text}" if text else ""
            )
