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

_STDLIB = os.path.dirname(os.__file__) + os.sep
_FUSEE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")

_TO_A_STEP = "move it into ctx.step(...)"

_ILLEGAL = {
    "a thread": ("run_in_executor",),
    "call_soon_threadsafe from outside the run": ("call_soon_threadsafe",),
    "socket I/O": (
        "add_reader", "remove_reader", "add_writer", "remove_writer",
        "create_connection", "create_server", "create_unix_connection", "create_unix_server",
        "create_datagram_endpoint", "connect_accepted_socket", "start_tls", "sendfile",
        "sock_recv", "sock_recv_into", "sock_recvfrom", "sock_recvfrom_into", "sock_sendall",
        "sock_sendto", "sock_connect", "sock_accept", "sock_sendfile",
    ),
    "name resolution": ("getaddrinfo", "getnameinfo"),
    "a subprocess": ("subprocess_exec", "subprocess_shell"),
    "pipe I/O": ("connect_read_pipe", "connect_write_pipe"),
    "a signal handler": ("add_signal_handler", "remove_signal_handler"),
}  # fmt: skip

_NOT_YOURS = {
    "turning the loop": ("run_forever", "run_until_complete", "stop"),
    "a task factory": ("set_task_factory",),
    "an exception handler": ("set_exception_handler",),
    "an executor": ("set_default_executor", "shutdown_default_executor"),
    "debug mode": ("set_debug",),
}


def user_line() -> str:
    """Return "file.py:41" of the innermost frame that is the user's, "" if there is none.

    Installed packages are passed over in favour of the application that called them, unless
    everything is installed.
    """
    installed = ""
    frame = sys._getframe(1)
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


def _refusal(what: str, remedy: str) -> Callable[..., NoReturn]:
    def refused(*args: Any, **kwargs: Any) -> NoReturn:
        refuse(what, remedy)

    return refused


class IllegalCalls(asyncio.AbstractEventLoop):
    """An event loop on which everything that reaches outside the run is refused."""


for _what, _names in _ILLEGAL.items():
    for _name in _names:
        setattr(IllegalCalls, _name, _refusal(_what, _TO_A_STEP))
for _what, _names in _NOT_YOURS.items():
    for _name in _names:
        setattr(IllegalCalls, _name, _refusal(_what, "the run's loop belongs to the engine"))
