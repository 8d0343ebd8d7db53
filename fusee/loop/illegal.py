"""What workflow code may not ask of its event loop, and how it is told.

Sockets, threads, processes and signals are different in every replay. There is no fall-through to
the host's loop: each such call raises IllegalInWorkflow and names the user's line.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from fusee.base.errors import IllegalInWorkflow

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

_STDLIB = os.path.dirname(os.__file__) + os.sep
_FUSEE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")

_TO_A_STEP = "move it into ctx.step(...)"
_NOT_YOURS = "the run's loop belongs to the engine"


def user_line() -> str:
    """Return "file.py:41" of the innermost frame that is the user's, "" if there is none.

    Installed packages are passed over in favour of the application that called them, unless
    everything is installed.
    """
    installed = ""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        path = frame.f_code.co_filename
        if any(part in path for part in _INSTALLED):
            installed = installed or f"{os.path.basename(path)}:{frame.f_lineno}"
        elif not path.startswith((_STDLIB, _FUSEE, "<frozen")):
            return f"{os.path.basename(path)}:{frame.f_lineno}"
        frame = frame.f_back
    return installed


def refuse(what: str, remedy: str = _TO_A_STEP) -> NoReturn:
    """Raise IllegalInWorkflow for `what`, naming the user's line."""
    line = user_line()
    raise IllegalInWorkflow(f"{what} in workflow code{f' at {line}' if line else ''}; {remedy}")


def _refusal(what: str, remedy: str = _TO_A_STEP) -> Callable[..., NoReturn]:
    def refused(loop: IllegalCalls, *args: Any, **kwargs: Any) -> NoReturn:
        loop.refuse_call(what, remedy)

    return refused


_thread: Any = _refusal("a thread")
_socket: Any = _refusal("socket I/O")
_resolver: Any = _refusal("name resolution")
_subprocess: Any = _refusal("a subprocess")
_pipe: Any = _refusal("pipe I/O")
_signal: Any = _refusal("a signal handler")
_turning: Any = _refusal("turning the loop", _NOT_YOURS)
_executor: Any = _refusal("an executor", _NOT_YOURS)


class IllegalCalls(asyncio.AbstractEventLoop):
    """An event loop on which everything that reaches outside the run is refused."""

    def refuse_call(self, what: str, remedy: str) -> NoReturn:
        """Refuse a call of this loop, saying what it was and what to do instead."""
        refuse(what, remedy)

    run_in_executor: Any = _thread

    add_reader: Any = _socket
    remove_reader: Any = _socket
    add_writer: Any = _socket
    remove_writer: Any = _socket
    create_connection: Any = _socket
    create_server: Any = _socket
    create_unix_connection: Any = _socket
    create_unix_server: Any = _socket
    create_datagram_endpoint: Any = _socket
    connect_accepted_socket: Any = _socket
    start_tls: Any = _socket
    sendfile: Any = _socket
    sock_recv: Any = _socket
    sock_recv_into: Any = _socket
    sock_recvfrom: Any = _socket
    sock_recvfrom_into: Any = _socket
    sock_sendall: Any = _socket
    sock_sendto: Any = _socket
    sock_connect: Any = _socket
    sock_accept: Any = _socket
    sock_sendfile: Any = _socket

    getaddrinfo: Any = _resolver
    getnameinfo: Any = _resolver

    subprocess_exec: Any = _subprocess
    subprocess_shell: Any = _subprocess
    connect_read_pipe: Any = _pipe
    connect_write_pipe: Any = _pipe

    add_signal_handler: Any = _signal
    remove_signal_handler: Any = _signal

    run_forever: Any = _turning
    run_until_complete: Any = _turning
    stop: Any = _turning
    set_task_factory: Any = _refusal("a task factory", _NOT_YOURS)
    set_exception_handler: Any = _refusal("an exception handler", _NOT_YOURS)
    set_default_executor: Any = _executor
    shutdown_default_executor: Any = _executor
    set_debug: Any = _refusal("debug mode", _NOT_YOURS)
