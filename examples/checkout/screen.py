"""What the demo prints: a bar under scrolling lines on a terminal, plain lines in a pipe."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass

BAR_COLUMNS_MAX = 40
PLAIN_STEPS = 10
CLEAR_LINE = "\r\x1b[2K"


@dataclass
class Screen:
    """Progress out of `total`, and lines that stay."""

    total: int
    done: int = 0
    note: str = ""
    last_step: int = 0
    is_live: bool = sys.stdout.isatty()

    def say(self, text: str = "") -> None:
        """Print a line that stays, above the bar."""
        print(f"{CLEAR_LINE if self.is_live else ''}{text}", flush=True)
        self._draw()

    def progress(self, done: int, note: str) -> None:
        """Show how far it is: at once on a terminal, now and then in a pipe."""
        self.done, self.note = done, note
        step = done * PLAIN_STEPS // self.total
        if not self.is_live and step > self.last_step:
            print(f"  {self._counts()}", flush=True)
        self.last_step = max(step, self.last_step)
        self._draw()

    def close(self) -> None:
        """Leave no bar behind."""
        if self.is_live:
            print(CLEAR_LINE, end="", flush=True)
        self.is_live = False

    def _counts(self) -> str:
        return f"{self.done:3} of {self.total} orders done, {self.note}"

    def _draw(self) -> None:
        if not self.is_live or not self.note:
            return
        columns = shutil.get_terminal_size().columns
        width = max(0, min(BAR_COLUMNS_MAX, columns - len(self._counts()) - 6))
        full = width * self.done // self.total
        bar = "█" * full + "░" * (width - full)
        print(f"{CLEAR_LINE}  {bar} {self._counts()}"[: columns + 6], end="", flush=True)
