"""Helper processes that are spoken to in JSON lines, and never waited for without a bound."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from tests.support.children import ROOT, environment

PATIENCE_S = 60.0
"""No wait is longer. Everything waited for takes milliseconds, or it hangs."""


class Hangs(AssertionError):
    """Somebody did not answer in time."""


class HelperDied(AssertionError):
    """A helper ended while it was needed."""


class Helper:
    """A module run with pipes. It ends when its stdin does, so it never outlives its parent."""

    def __init__(self, module: str, *arguments: str) -> None:
        self._module = module
        self._heard = b""
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(),
            cwd=ROOT,
            # A Ctrl-C is for the tests, which end their helpers in good order.
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def tell(self, **what: Any) -> None:
        """Send one line and expect nothing."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(what).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise HelperDied(self._module) from None

    def hear(self, patience_s: float = PATIENCE_S) -> dict[str, Any]:
        """Wait for one line."""
        assert self._process.stdout is not None
        fd = self._process.stdout.fileno()
        until_s = time.monotonic() + patience_s
        while b"\n" not in self._heard:
            left_s = until_s - time.monotonic()
            if left_s <= 0 or not select.select([fd], [], [], left_s)[0]:
                raise Hangs(f"{self._module} said nothing for {patience_s} s")
            more = os.read(fd, 1 << 16)
            if not more:
                raise HelperDied(self._module)
            self._heard += more
        line, self._heard = self._heard.split(b"\n", 1)
        said = json.loads(line)
        assert isinstance(said, dict)
        return said

    def ask(self, **what: Any) -> dict[str, Any]:
        """Send one line and wait for the answer."""
        self.tell(**what)
        answer = self.hear()
        if "error" in answer:
            raise AssertionError(f"{self._module}: {answer['error']}")
        return answer

    def close(self, patience_s: float = PATIENCE_S) -> int:
        """End it by closing its stdin; kill it if it stays. Idempotent."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):  # It has ended already, with a line on its way.
            process.stdin.close()
        try:
            process.wait(patience_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(patience_s)
        process.stdout.close()
        return process.returncode

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
