"""How often a process in the foreground was asked to stop: by signals, or over a pipe.

Under `--reload` one process starts another, and Ctrl-C in a terminal reaches both. The one
that started the other passes on what it hears as bytes through a pipe, one a request, since a
signal sent again would count twice. Not the sum counts but the larger number, and a pipe that
ends is a request too: who was to write there is gone.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable


class StopRequests:
    """Tells of each request that raises the count. Belongs to the running loop."""

    def __init__(self, on_request: Callable[[int], None], pipe_fd: int | None) -> None:
        self._on_request = on_request
        self._loop = asyncio.get_running_loop()
        self._by_signal = 0
        self._by_pipe = 0
        self._told = 0
        for number in (signal.SIGINT, signal.SIGTERM):
            self._loop.add_signal_handler(number, self._signalled)
        if pipe_fd is not None:
            os.set_inheritable(pipe_fd, False)
            self._loop.add_reader(pipe_fd, self._read, pipe_fd)

    def _signalled(self) -> None:
        self._by_signal += 1
        self._tell()

    def _read(self, fd: int) -> None:
        requests = os.read(fd, 16)
        if not requests:
            self._loop.remove_reader(fd)
        self._by_pipe = max(1, self._by_pipe + len(requests))
        self._tell()

    def _tell(self) -> None:
        count = max(self._by_signal, self._by_pipe)
        if count > self._told:
            self._told = count
            self._on_request(count)
