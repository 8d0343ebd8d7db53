"""A payment service in a process of its own: the witness of the demo.

It writes every call to its log, and makes it durable, before it answers. It gives each
new charge a new random id, so a result that got lost and was asked for again would show.
It honours idempotency keys: a repeated call gets the first answer. And it fails: some
calls get 503 before anything happened, some after, and the caller cannot tell which.

    python -m examples.checkout.payments LOG     prints its URL; ends when its input ends
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import secrets
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable

FAIL_BEFORE = 0.04
FAIL_AFTER = 0.03
ANSWER_S_MIN = 0.004
ANSWER_S_MAX = 0.040
PREFIXES = {"charge": "ch", "capture": "cap", "refund": "re"}


@dataclass
class CallLog:
    """Appends lines; one flush at a time, and each takes all lines that came during the last."""

    file: BinaryIO
    waiting: list[asyncio.Future[None]] = field(default_factory=list[asyncio.Future[None]])
    lines: list[bytes] = field(default_factory=list[bytes])
    flushing: asyncio.Task[None] | None = None

    async def append(self, entry: dict[str, object]) -> None:
        """Return when the entry is durable."""
        done = asyncio.get_running_loop().create_future()
        self.lines.append(json.dumps(entry).encode() + b"\n")
        self.waiting.append(done)
        if self.flushing is None:
            self.flushing = asyncio.create_task(self._flush())
        await done

    async def _flush(self) -> None:
        while self.lines:
            lines, waiting = self.lines, self.waiting
            self.lines, self.waiting = [], []
            await asyncio.to_thread(self._write, lines)
            for done in waiting:
                if not done.done():
                    done.set_result(None)
        self.flushing = None

    def _write(self, lines: list[bytes]) -> None:
        self.file.write(b"".join(lines))
        self.file.flush()
        os.fsync(self.file.fileno())


@dataclass
class Service:
    """Knows what it did for which key."""

    log: CallLog
    luck: Callable[[], float] = random.random
    answers: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])

    async def answer(self, kind: str, key: str, content: str) -> tuple[int, dict[str, str]]:
        """Do what is asked, once a key, and return status and body."""
        if kind not in PREFIXES or not key:
            return 400, {"error": "call /charge, /capture or /refund, with an Idempotency-Key"}
        luck = self.luck()
        if luck < FAIL_BEFORE:
            await self._note(kind, key, content, 503)
            return 503, {"error": "overloaded; nothing was done"}
        asked = f"{kind} {content}"
        known = self.answers.get(key)
        if known is not None and known[0] != asked:
            await self._note(kind, key, content, 409)
            return 409, {"error": f"key {key} was used before, with another input"}
        ours = known[1] if known else f"{PREFIXES[kind]}_{secrets.token_hex(6)}"
        self.answers[key] = (asked, ours)
        await self._note(kind, key, content, 200, id=ours, repeat=known is not None)
        if luck < FAIL_BEFORE + FAIL_AFTER:
            return 503, {"error": "the answer got lost on its way"}
        return 200, {"id": ours}

    async def _note(self, kind: str, key: str, content: str, status: int, **more: object) -> None:
        entry = {"kind": kind, "key": key, "input": json.loads(content), "status": status}
        await self.log.append(entry | more)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Handle one connection: one request, one answer."""
        # A caller that is killed in mid-call leaves us with half a request, or nobody to answer.
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            request, *lines = head.split("\r\n")
            fields = (line.partition(":") for line in lines)
            headers = {name.lower(): value.strip() for name, _, value in fields}
            content = await reader.readexactly(int(headers["content-length"]))
            kind = request.split()[1].lstrip("/")
            key = headers.get("idempotency-key", "")
            status, answer = await self.answer(kind, key, content.decode())
            await asyncio.sleep(random.uniform(ANSWER_S_MIN, ANSWER_S_MAX))
            body = json.dumps(answer).encode()
            writer.write(
                f"HTTP/1.1 {status} -\r\nContent-Length: {len(body)}\r\n"
                "Content-Type: application/json\r\nConnection: close\r\n\r\n".encode()
                + body
            )
            await writer.drain()
        writer.close()


async def main(path: Path) -> None:
    with path.open("ab") as file:
        server = await asyncio.start_server(Service(CallLog(file)).serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        print(f"http://127.0.0.1:{port}", flush=True)
        # Whoever started us holds our input open; when they are gone, nobody needs us.
        await asyncio.to_thread(sys.stdin.read)
        server.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
