"""strace attached to a victim: it injects one fault at one system call, and says what it saw.

`when=N` counts the calls of one name in one thread, from the moment of attaching. A signal is
delivered at the entrance of the call, so a SIGKILL at call N is a crash between N-1 and N.
"""

from __future__ import annotations

import re
import select
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.real.helpers import PATIENCE_S

FAULTS = {
    "kill": "signal=KILL",
    "eio": "error=EIO",
    "enospc": "error=ENOSPC",
    "lost": "retval=4096",
    "unflushed": "retval=0",
}
"""The call is not made, except that `kill` ends the process at its entrance. `lost` and
`unflushed` report success: of a write of one block, and of a call that returns nothing."""

_SEGMENT = re.compile(r"\d+<[^>]*/(segment-\d+)>.*?, (\d+)(?:, RWF_DSYNC)?\) *=")
_WRITES = ("pwritev2(", "pwrite64(")
_LOG_FILE = re.compile(r"\d+<[^>]*/(?:segment-\d+|superblock)>")


@dataclass(frozen=True)
class Injection:
    """One fault at one place."""

    call: str
    fault: str
    when: int

    def __str__(self) -> str:
        return f"{self.call} {self.fault} at call {self.when}"

    @property
    def expression(self) -> str:
        return f"inject={self.call}:{FAULTS[self.fault]}:when={self.when}"


class Trace:
    """What strace wrote: one line a call, those injected marked."""

    def __init__(self, file: Path) -> None:
        self.lines = file.read_text(errors="replace").splitlines() if file.exists() else []
        self._at = next((n for n, line in enumerate(self.lines) if "(INJECTED)" in line), -1)

    @property
    def has_injected(self) -> bool:
        return self._at >= 0

    @property
    def hit(self) -> str:
        """The line of the call that did not happen."""
        return self.lines[self._at] if self._at >= 0 else ""

    @property
    def hit_log_file(self) -> bool:
        """Whether that call was on a file whose content counts."""
        return _LOG_FILE.search(self.hit) is not None

    def hit_a_frame(self) -> bool:
        """Whether it was the write of a frame."""
        return _frame(self.hit) is not None

    def frames_after(self) -> int:
        """How many writes of frames came later, all in the order of the log."""
        return sum(_frame(line) is not None for line in self.lines[self._at + 1 :])

    def writes_after(self) -> list[str]:
        """Writes to the log behind the injected call that succeeded."""
        return [
            line
            for line in self.lines[self._at + 1 :]
            if any(call in line for call in _WRITES)
            and _LOG_FILE.search(line)
            and " = -1 " not in line
            and "unfinished" not in line
        ]

    def count_by_call(self) -> Counter[str]:
        """How often one thread made each call: the largest N that can be hit."""
        of_thread: Counter[tuple[str, str]] = Counter()
        for line in self.lines:
            thread, _, rest = line.partition(" ")
            call, bracket, _ = rest.strip().partition("(")
            if bracket and call.isidentifier():
                of_thread[thread, call] += 1
        largest: Counter[str] = Counter()
        for (_, call), count in of_thread.items():
            largest[call] = max(largest[call], count)
        return largest


def _frame(line: str) -> tuple[str, int] | None:
    """Return where a frame was written, None if this line writes none."""
    found = _SEGMENT.search(line) if any(call in line for call in _WRITES) else None
    if found is None or int(found[2]) < 8192:
        return None
    return found[1], int(found[2])


@contextmanager
def traced(pid: int, file: Path, calls: str, injection: Injection | None = None) -> Iterator[None]:
    """Attach strace; yield once it is attached; wait until it has left the dead process."""
    words = ["strace", "-f", "-y", "-s", "0", "-o", str(file), "-e", f"trace={calls}"]
    if injection is not None:
        words += ["-e", injection.expression]
    with subprocess.Popen([*words, "-p", str(pid)], stderr=subprocess.PIPE, text=True) as strace:
        assert strace.stderr is not None
        try:
            has_spoken = select.select([strace.stderr], [], [], PATIENCE_S)[0]
            said = strace.stderr.readline() if has_spoken else "nothing"
            assert "attached" in said, f"strace said {said}"
            yield
            strace.communicate(timeout=PATIENCE_S)
        except BaseException:
            # What it traces goes on without it, and is ended by who began it.
            strace.kill()
            raise
