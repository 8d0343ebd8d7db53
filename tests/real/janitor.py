"""Undoes mounts and loop devices on every way out, also when the tests themselves are killed.

    python -m tests.real.janitor

Reads JSON lines and answers each: {"key": n, "undo": [words of a command]}, then {"now": n} or
{"forget": n}. When its stdin ends, it runs what is left, the last one first. So whoever mounts
something hands the way back to a process that does not die with it.
"""

from __future__ import annotations

import json
import subprocess
import sys

from tests.real.helpers import Helper

_UNDO_S = 20.0


class Janitor(Helper):
    """The tests' end of the pipe."""

    def __init__(self) -> None:
        super().__init__("tests.real.janitor")
        self._count = 0

    def undo_later(self, *command: str) -> int:
        """Have a command run at the end; return a number for `undo_now`."""
        self._count += 1
        self.ask(key=self._count, undo=list(command))
        return self._count

    def forget(self, key: int) -> None:
        """It has been undone already."""
        self.ask(forget=key)

    def undo_now(self, key: int) -> None:
        """Run it now and not later. Raises if it fails."""
        self.ask(now=key)


def _run(command: list[str]) -> str:
    try:
        ran = subprocess.run(command, timeout=_UNDO_S, check=False, capture_output=True, text=True)
    except (OSError, subprocess.SubprocessError) as error:
        return f"{command}: {error}"
    return "" if ran.returncode == 0 else f"{command}: {ran.stderr.strip()}"


def main() -> int:
    left: dict[int, list[str]] = {}
    for line in sys.stdin:
        asked = json.loads(line)
        if "undo" in asked:
            left[asked["key"]] = asked["undo"]
            answer = {}
        elif "forget" in asked:
            left.pop(asked["forget"])
            answer = {}
        else:
            error = _run(left.pop(asked["now"]))
            answer = {"error": error} if error else {}
        print(json.dumps(answer), flush=True)
    errors = [error for key in reversed(left) if (error := _run(left[key]))]
    for error in errors:
        print(error, file=sys.stderr, flush=True)
    return bool(errors)


if __name__ == "__main__":
    raise SystemExit(main())
