"""What a campaign says while it runs and when a seed fails."""

from __future__ import annotations

import platform
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from fusee.testing.outcome import Verdict

if TYPE_CHECKING:
    from fusee.testing.outcome import SeedOutcome
    from sim.job import Ask, Job
    from sim.tally import Tally

_TERMINAL_S, _PIPE_S = 0.2, 10.0
TRACE_LINES = 40


def commit() -> str:
    """Return the commit of this tree, "+" behind it when files differ from it."""
    root = Path(__file__).parent.parent
    try:
        command = ["git", "-C", str(root), "describe", "--always", "--dirty=+", "--exclude=*"]
        found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return found.stdout.strip() or "unknown"


class Living:
    """One line that changes on a terminal; a line now and then in a pipe."""

    def __init__(self, out: TextIO, tally: Tally, workers: int) -> None:
        self._out = out
        self.tally = tally
        self._workers = workers
        self._start_s = self._shown_s = time.monotonic()
        self._is_terminal = out.isatty()
        self._shown = ""

    @property
    def elapsed_s(self) -> float:
        """How long the campaign has run."""
        return time.monotonic() - self._start_s

    def tick(self) -> None:
        """Show the line if it is time."""
        now_s = time.monotonic()
        if now_s - self._shown_s >= (_TERMINAL_S if self._is_terminal else _PIPE_S):
            self._shown_s = now_s
            self.show()

    def show(self) -> None:
        """Show the line."""
        line = self.line()
        if self._is_terminal:
            columns = shutil.get_terminal_size().columns
            self._out.write("\r\x1b[K" + line[: columns - 1])
        else:
            self._out.write(line + "\n")
        self._shown = line
        self._out.flush()

    def say(self, text: str) -> None:
        """Write lines that stay, above the living one."""
        if self._is_terminal and self._shown:
            self._out.write("\r\x1b[K")
        self._out.write(text + "\n")
        self._out.flush()

    def end(self) -> None:
        """Show the last line whole, and leave it there."""
        if self._is_terminal:
            self._out.write("\r\x1b[K")
        self._out.write(self.line() + "\n")
        self._out.flush()
        self._shown = ""

    def line(self) -> str:
        """Return seeds, verdicts, seeds an hour and core, crashes, recoveries, faults by kind."""
        tally = self.tally
        faults = " ".join(f"{name} {count:,}" for name, count in tally.faults().items()) or "none"
        verdicts = " ".join(
            f"{verdict} {tally.verdicts[verdict]:,}"
            for verdict in Verdict
            if tally.verdicts[verdict] or verdict is Verdict.CLEAN
        )
        hour_rate = tally.seeds * 3600 / max(self.elapsed_s, 0.001) / self._workers
        return (
            f"{tally.seeds:,} seeds  {verdicts}  {hour_rate:,.0f} seeds/h/core"
            f"  crashes {tally.counters['crashes']:,}"
            f"  recoveries {tally.counters['recoveries']:,}  faults: {faults}"
        )


def failure_text(outcome: SeedOutcome, job: Job, ask: Ask) -> str:
    """Return a failing seed as text: what broke, how it came to that, how to see it again."""
    lines = [f"seed {outcome.seed}: {outcome.verdict}"]
    lines += [f"  {text}" for text in outcome.violations]
    if outcome.trace:
        shown = outcome.trace[-TRACE_LINES:]
        lines.append(f"the last {len(shown)} events:")
        lines += [f"  {event}" for event in shown]
    lines.append(f"python {platform.python_version()}, commit {commit()}")
    lines.append(f"replay: {job.command(range(outcome.seed, outcome.seed + 1), ask)}")
    return "\n".join(lines)
