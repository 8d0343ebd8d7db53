"""The admin socket: operators' questions, answered on the application's own loop.

Whatever connects, the engine goes on: at most 16 connections are open (the kernel keeps the
others waiting), each has one request in flight, reads and writes have deadlines, and bytes
that are no request are refused by name, counted, and end their connection.

Closing is in two parts, because the directory must be free of us when its lock is released:
`shut` removes the name at once, `close` then waits for the connections, bounded.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from fusee.admin.address import SOCKET_FILE, bind_owner, unbind_owner
from fusee.admin.messages import (
    Answer,
    Answered,
    AskInfo,
    AskQuery,
    AskRun,
    AskRuns,
    OwnerInfo,
    RefusalKind,
    Refused,
    Request,
    Runs,
    SendSignal,
    Shown,
    Signalled,
    decode_request,
    encode_message,
)
from fusee.admin.refusals import refusal_of
from fusee.base.errors import FuseeError
from fusee.base.limits import ADMIN_ANSWER_BYTES_MAX, ADMIN_CONNECTIONS_MAX
from fusee.base.names import check_id, check_name
from fusee.io import fork
from fusee.wire.frame import BadFrame, FrameDecoder, FrameFault, FrameKind, encode_parts

if TYPE_CHECKING:
    from pathlib import Path

    from fusee.admin.target import AdminTarget

LOGGER = logging.getLogger("fusee.admin")
IDLE_S = 30.0
"""How long a connection may take to send a request, or to take a part of an answer."""
CLOSE_S = 0.5
"""How long closing waits for answers that are on their way."""
_ACCEPT_AGAIN_S = 0.5
_READ_BYTES = 64 * 1024

_servers: set[AdminServer] = set()


class AdminServer:
    """Serves one engine on `owner.sock` in its directory. Lives on the engine's loop."""

    def __init__(self, directory: Path, target: AdminTarget, *, idle_s: float = IDLE_S) -> None:
        self.refused: Counter[str] = Counter()
        """Frames refused so far, by reason."""
        self._directory = directory
        self._target = target
        self._idle_s = idle_s
        self._loop = asyncio.get_running_loop()
        self._calls: dict[asyncio.Task[None], socket.socket] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._closing = False
        self._dir_fd = -1
        self._listener: socket.socket | None = None
        self._is_accepting = False

    def open(self) -> None:
        """Begin to listen. Raises OSError, and nothing is held then."""
        dir_fd = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            self._listener = bind_owner(dir_fd, self._directory)
        except BaseException:
            os.close(dir_fd)
            raise
        self._dir_fd = dir_fd
        _servers.add(self)
        self._accept_when_there_is_room()

    def shut(self) -> None:
        """Remove the name, so that nobody finds us any more. Idempotent, does not wait."""
        self._closing = True
        _servers.discard(self)
        if self._dir_fd >= 0:
            unbind_owner(self._dir_fd)
            os.close(self._dir_fd)
            self._dir_fd = -1
        if self._listener is not None:
            self._pause_accepting(self._listener)
            self._listener.close()
            self._listener = None

    async def close(self) -> None:
        """End all connections; answers on their way get a moment. Idempotent."""
        self.shut()
        try:
            for task in self._calls.keys() - self._answering:
                task.cancel()
            if self._answering:
                await asyncio.wait(set(self._answering), timeout=CLOSE_S)
        finally:
            for task in self._calls:
                task.cancel()
        if self._calls:
            await asyncio.wait(set(self._calls))

    def drop_in_child(self) -> None:
        """Close a forked child's copies: in it they would outlive the owner."""
        for held in (self._listener, *self._calls.values()):
            if held is not None:
                held.close()
        # Not through the loop: it shares its selector with the parent.
        self._listener = None
        self._calls.clear()
        os.close(self._dir_fd)
        self._dir_fd = -1

    # ------------------------------------------------------------ connections

    def _accept_when_there_is_room(self) -> None:
        """Look for connections unless there are as many as we take: the kernel keeps the rest."""
        listener = self._listener
        has_room = len(self._calls) < ADMIN_CONNECTIONS_MAX
        if listener is not None and has_room and not self._is_accepting:
            self._is_accepting = True
            self._loop.add_reader(listener, self._accept, listener)

    def _pause_accepting(self, listener: socket.socket) -> None:
        if self._is_accepting:
            self._is_accepting = False
            self._loop.remove_reader(listener)

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:
            # No descriptors left: looking again at once would only spin.
            LOGGER.warning("%s: accept failed: %s", SOCKET_FILE, error.strerror)
            self._pause_accepting(listener)
            self._loop.call_later(_ACCEPT_AGAIN_S, self._accept_when_there_is_room)
            return
        connection.setblocking(False)
        task = self._loop.create_task(self._serve(connection), name="fusee-admin")
        self._calls[task] = connection
        task.add_done_callback(self._served)
        if len(self._calls) >= ADMIN_CONNECTIONS_MAX:
            self._pause_accepting(listener)

    def _served(self, task: asyncio.Task[None]) -> None:
        # Here and not in the task, which may have been cancelled before its first line.
        connection = self._calls.pop(task, None)
        if connection is not None:
            connection.close()
        self._answering.discard(task)
        failure = None if task.cancelled() else task.exception()
        if failure is not None:
            LOGGER.error("%s: a connection failed", SOCKET_FILE, exc_info=failure)
        self._accept_when_there_is_room()

    async def _serve(self, connection: socket.socket) -> None:
        """Answer one connection's requests, one after the other."""
        task = asyncio.current_task()
        assert task is not None
        decoder = FrameDecoder()
        try:
            while not self._closing:
                request = await self._receive(connection, decoder)
                if request is None:
                    return
                self._answering.add(task)
                await self._send(connection, await self._answer(request))
                self._answering.discard(task)
        except BadFrame as bad:
            self.refused[bad.fault] += 1
            LOGGER.warning("%s: a connection was refused: %s", SOCKET_FILE, bad)
            with suppress(OSError):
                await self._send(connection, Refused(RefusalKind.BAD_FRAME, str(bad)))
        except OSError:
            # Gone, or silent for too long: there is nobody to tell.
            return

    async def _receive(self, connection: socket.socket, decoder: FrameDecoder) -> Request | None:
        """Return the next request, None when the peer has no more."""
        async with asyncio.timeout(self._idle_s):
            while (frame := decoder.take()) is None:
                data = await self._loop.sock_recv(connection, _READ_BYTES)
                if not data:
                    decoder.finish()
                    return None
                decoder.feed(data)
        if frame.kind is not FrameKind.REQUEST:
            raise BadFrame(FrameFault.UNEXPECTED_KIND, frame.kind.name)
        return decode_request(frame.body)

    async def _send(self, connection: socket.socket, answer: Answer) -> None:
        body = encode_message(answer)
        if len(body) > ADMIN_ANSWER_BYTES_MAX:
            text = f"the answer has {len(body)} bytes; ask for less (runs list --limit)"
            body = encode_message(Refused(RefusalKind.TOO_LARGE, text))
        for frame in encode_parts(body):
            async with asyncio.timeout(self._idle_s):
                await self._loop.sock_sendall(connection, frame)

    # ------------------------------------------------------------ requests

    async def _answer(self, request: Request) -> Answer:
        try:
            self._target.check_usable()
        except FuseeError as error:
            return Refused(RefusalKind.CLOSING, f"process {os.getpid()}: {error}")
        try:
            return await self._ask(request)
        except Exception as error:  # Whatever it is, it is an answer; the engine goes on.
            refused = refusal_of(error)
            if refused.kind == RefusalKind.INTERNAL:
                LOGGER.exception("%s: a request failed", SOCKET_FILE)
            return refused

    async def _ask(self, request: Request) -> Answer:
        target = self._target
        match request:
            case AskInfo():
                return self._with_refused(target.info())
            case AskRuns(wanted):
                return Runs(await target.runs(wanted))
            case AskRun(workflow_id, ordinal):
                return Shown(*await target.show(check_id(workflow_id), ordinal))
            case SendSignal(workflow_id, name, payload, signal_id, ordinal):
                check_id(workflow_id)
                check_id(signal_id, what="signal's ID")
                check_name(name, what="signal's name")
                return Signalled(
                    await target.signal(workflow_id, ordinal, name, payload, signal_id)
                )
            case AskQuery(workflow_id, name, payload, ordinal):
                check_id(workflow_id)
                return Answered(await target.query(workflow_id, ordinal, name, payload))

    def _with_refused(self, info: OwnerInfo) -> OwnerInfo:
        return OwnerInfo(
            info.pid,
            info.version,
            info.workflows,
            info.open_runs,
            info.held_runs,
            dict(self.refused),
        )


def _close_in_child() -> None:
    for server in _servers:
        server.drop_in_child()
    _servers.clear()


fork.call_in_child(_close_in_child)
