"""What the steps of all lives call: outside of the process, with a memory of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fusee.sdk.current import current_step
from fusee.testing.device import PowerLost

if TYPE_CHECKING:
    from collections.abc import Callable

    from fusee.testing.checkers.ledger import Ledger
    from fusee.testing.process import Process
    from fusee.testing.world import World


class LoggingService:
    """Answers differently each time, and forgets nothing."""

    def __init__(self, ledger: Ledger, closes: Callable[[], bool]) -> None:
        self.calls = 0
        self.ended: list[tuple[str, int]] = []
        """Calls of the present life whose functions end at once: key and attempt."""
        self.world: World
        self._ledger = ledger
        self._closes = closes

    def call(self, *, is_read_only: bool = False, ends: bool = True, **given: Any) -> str:
        """Be called by a step function, as the first thing it does."""
        process = self._caller()
        process.point("before-call")
        step = current_step()
        self.calls += 1
        if step.attempt > 1 and step.deadline is not None:
            # Only its timeout lets a step that has one fail.
            self.world.marks.hit("step:timed-out")
        if not is_read_only:
            self._ledger.on_input(step.key, step.attempt, given)
        self.world.trace.add(self.world.now_us, "call", step.key, step.attempt)
        if self._closes():
            # While the function runs: what it brings arrives when closing has begun.
            self.world.marks.hit("fault:close")
            process.close()
        if ends and not is_read_only:
            self.ended.append((step.key, step.attempt))
        process.point("after-call")
        return f"{step.key}#{self.calls}"

    def alarm(self, text: str) -> None:
        """Hear from code that runs although nothing asked for it."""
        self._caller()
        self._ledger.blame(text)

    def _caller(self) -> Process:
        """Return the process that calls. The dead are not heard."""
        process = self.world.process
        if process is None or not process.is_alive:
            raise PowerLost
        return process
