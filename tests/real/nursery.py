"""Forks victims from a process that has imported everything: 5 ms a life instead of 300.

    python -m tests.real.nursery

Its parent says {"bear": options, "errors": file}; the answer is {"pid": n}, said when the
child has connected to the outside world and waits. Now a tracer can be attached, and counts no
call of Python's own beginnings. {"go": true} lets it live; {"status": code} tells how it ended,
-9 for a SIGKILL.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from tests.real.helpers import Helper

_PR_SET_PDEATHSIG = 1


class Nursery(Helper):
    """The tests' end."""

    def __init__(self) -> None:
        super().__init__("tests.real.nursery")

    def bear(self, options: dict[str, Any], errors: Path) -> int:
        """Fork a victim; return its process id. It waits."""
        return int(self.ask(bear=options, errors=str(errors))["pid"])

    def go(self) -> None:
        """Let it live."""
        self.tell(go=True)

    def status(self, patience_s: float) -> int:
        """Wait for its end; return its exit code, or minus the signal that killed it."""
        return int(self.hear(patience_s)["status"])


def _live(options: dict[str, Any], errors: str, ready: int, gate: int) -> NoReturn:
    from tests.real.victim import prepare, run

    code = 99
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        nothing = os.open(os.devnull, os.O_RDWR)
        to = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for fd, source in ((0, nothing), (1, nothing), (2, to)):
            os.dup2(source, fd)
        victim = prepare(options)
        os.write(ready, b".")
        os.read(gate, 1)
        code = run(victim)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(code)


def _has_ended(pid: int) -> bool:
    """Wait for a child; say whether it has ended, and not the parent of us all."""
    child = os.pidfd_open(pid)
    try:
        ready, _, _ = select.select([child, sys.stdin.fileno()], [], [])
        return child in ready
    finally:
        os.close(child)


def main() -> None:
    # Everything that children need, also what an engine imports when it opens.
    import fusee.admin.server  # noqa: F401
    import tests.real.victim  # noqa: F401

    for line in sys.stdin:
        asked = json.loads(line)
        ready, is_ready = os.pipe()
        gate, opens = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(ready)
            os.close(opens)
            _live(asked["bear"], asked["errors"], is_ready, gate)
        os.close(is_ready)
        os.close(gate)
        os.read(ready, 1)
        print(json.dumps({"pid": pid}), flush=True)
        if not sys.stdin.readline():
            return  # The parent is gone, and with us goes the child.
        with suppress(BrokenPipeError):  # It died of its own beginnings; its status tells.
            os.write(opens, b".")
        if not _has_ended(pid):
            return  # The parent is gone, and with us goes the child.
        _, status = os.waitpid(pid, 0)
        os.close(ready)
        os.close(opens)
        print(json.dumps({"status": os.waitstatus_to_exitcode(status)}), flush=True)


if __name__ == "__main__":
    main()
