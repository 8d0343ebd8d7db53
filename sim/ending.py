"""How a command ends whose user, or whose reader, has had enough: quietly, as other tools do."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

INTERRUPTED, PIPE_CLOSED = 130, 141


def ended(main: Callable[[], int]) -> int:
    """Run a command; return its exit code, also after Ctrl-C and when nobody reads on."""
    try:
        code = main()
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _flushed(INTERRUPTED)
    except BrokenPipeError:
        return _flushed(PIPE_CLOSED)
    return code


def leave_at_once() -> None:
    """Let Ctrl-C end this process here and now; whatever was not flushed is not said.

    For a process in which an exception may come up within code that is played with: an engine
    takes one for its own end, and a destructor swallows it.
    """
    signal.signal(signal.SIGINT, lambda number, frame: os._exit(INTERRUPTED))


def _flushed(code: int) -> int:
    """Flush what is left, or Python would complain of a closed pipe once more at its end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return code
