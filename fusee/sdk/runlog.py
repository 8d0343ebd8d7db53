"""`ctx.log`: log lines of workflow code are outputs too.

People act on logs. So a line appears when the turn that wrote it is committed, once, and
not again on replay. Levels and handlers are those of the logger `fusee.workflow`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

LOGGER = logging.getLogger("fusee.workflow")


class RunLog:
    """The logger of one run. Messages are formatted when written, emitted when durable."""

    __slots__ = ("_mute", "_run_key", "lines")

    def __init__(self, run_key: str, mute: Callable[[], bool]) -> None:
        self._run_key = run_key
        self._mute = mute
        self.lines: list[tuple[int, str]] = []

    def close(self) -> None:
        """The run has left memory: mute for good."""
        self._mute = _always

    def take(self) -> list[tuple[int, str]]:
        """Return the lines written since the last take."""
        lines = self.lines.copy()
        self.lines.clear()
        return lines

    def log(self, level: int, message: str, *args: Any) -> None:
        """Write one line at a level of the logging module."""
        if LOGGER.isEnabledFor(level) and not self._mute():
            text = message % args if args else message
            self.lines.append((level, f"{self._run_key} {text}"))

    def debug(self, message: str, *args: Any) -> None:
        """Write one line for people who look closely."""
        self.log(logging.DEBUG, message, *args)

    def info(self, message: str, *args: Any) -> None:
        """Write one line."""
        self.log(logging.INFO, message, *args)

    def warning(self, message: str, *args: Any) -> None:
        """Write one line somebody should see."""
        self.log(logging.WARNING, message, *args)

    def error(self, message: str, *args: Any) -> None:
        """Write one line somebody must see."""
        self.log(logging.ERROR, message, *args)


def _always() -> bool:
    return True


def emit(lines: list[tuple[int, str]]) -> None:
    """Hand lines to logging: they are durable now."""
    for level, text in lines:
        LOGGER.log(level, "%s", text)
