"""The outside world of a victim: the service its steps call, and everything it was told.

    python -m tests.real.outside SOCKET [RECORDER_SOCKET]

One process beside the victim. It takes the victim's lines and has each on its disk before it
answers, so what it holds is what really left the victim, and nothing that the victim does, or
that is done to it, can take any of it back.

Its parent says {"begin": file, "tell_at": n} before a life; the answer is {"listening": true}.
At the n-th line it says {"reached": n}, and when the victim's end of the connection is gone,
{"ended": lines}. With a recorder of block writes beside it, each line carries, as `at`, how
much the recorder had recorded when the line arrived.

To `call` it answers with a text that it never gives twice.
"""

from __future__ import annotations

import json
import os
import select
import socket
import sys
from pathlib import Path
from threading import Lock
from typing import Any

from tests.real.helpers import Helper


class Outside(Helper):
    """The tests' end."""

    def __init__(self, address: Path, recorder: Path | None = None) -> None:
        self.address = address
        more = [] if recorder is None else [str(recorder)]
        super().__init__("tests.real.outside", str(address), *more)

    def begin(self, file: Path, tell_at: int = 0) -> None:
        """Expect a victim whose lines go to a file."""
        self.ask(begin=str(file), tell_at=tell_at)


class Line:
    """The victim's end of the connection. Usable from any thread."""

    def __init__(self, address: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(address)
        self._answers = self._socket.makefile("rb")
        self._lock = Lock()

    def say(self, **what: Any) -> None:
        """Say what left. Once this returns it cannot be unsaid, whatever happens to us."""
        with self._lock:
            self._socket.sendall(json.dumps(what).encode() + b"\n")

    def call(self, **what: Any) -> str:
        """Call the service; return its answer."""
        with self._lock:
            self._socket.sendall(json.dumps(what).encode() + b"\n")
            answer = self._answers.readline()
        assert answer.endswith(b"\n"), "the outside world has ended"
        return str(json.loads(answer))


class _Recorder:
    """Asks the recorder of block writes how far it is."""

    def __init__(self, address: str | None) -> None:
        self._socket: socket.socket | None = None
        if address is not None:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._socket.connect(address)
            self._answers = self._socket.makefile("rb")

    def stamp(self, line: dict[str, Any]) -> None:
        if self._socket is not None:
            self._socket.sendall(b'{"do": "position"}\n')
            line["at"] = json.loads(self._answers.readline())["position"]


class _Book:
    """One victim's lines on disk."""

    def __init__(self, path: str, tell_at: int, recorder: _Recorder) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._tell_at = tell_at
        self._recorder = recorder
        self.count = 0

    def enter(self, lines: list[bytes]) -> list[str]:
        """Write lines and make them durable; return the answers that are due."""
        answers: list[str] = []
        parts: list[bytes] = []
        for raw in lines:
            line = json.loads(raw)
            if "call" in line:
                line["answer"] = f"#{os.urandom(6).hex()}"
                answers.append(line["answer"])
            self._recorder.stamp(line)
            parts.append(json.dumps(line).encode() + b"\n")
        os.write(self._fd, b"".join(parts))
        os.fsync(self._fd)
        before, self.count = self.count, self.count + len(lines)
        if before < self._tell_at <= self.count:
            _tell(reached=self.count)
        return answers

    def close(self) -> None:
        os.close(self._fd)


def _tell(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def _serve(listener: socket.socket, book: _Book) -> None:
    _tell(listening=True)
    ready, _, _ = select.select([listener, sys.stdin], [], [])
    if listener not in ready:
        return  # The parent is gone, and no victim will come.
    victim, _ = listener.accept()
    with victim:
        rest = b""
        while True:
            try:
                more = victim.recv(1 << 16)
            except ConnectionResetError:
                break  # It died with an answer unread.
            if not more:
                break
            *lines, rest = (rest + more).split(b"\n")
            if not lines:
                continue
            answers = book.enter(lines)
            try:
                victim.sendall(b"".join(json.dumps(text).encode() + b"\n" for text in answers))
            except (BrokenPipeError, ConnectionResetError):
                continue  # It died, but what it said before may still be unread.
    book.close()
    _tell(ended=book.count)


def main(address: str, recorder_address: str | None = None) -> None:
    recorder = _Recorder(recorder_address)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(address)
        listener.listen(1)
        for line in sys.stdin:
            asked = json.loads(line)
            _serve(listener, _Book(asked["begin"], asked["tell_at"], recorder))


if __name__ == "__main__":
    main(*sys.argv[1:])
