"""Steps whose outcome the test decides: any order of outcomes in one line.

slow = Held()
...ctx.step(slow, "a")...            # runs when its gate opens
await slow.called("a")               # its function has been called
slow.give("a", 1)                    # and returns now
"""

from __future__ import annotations

import asyncio
from typing import Any

import fusee


class Held:
    """An async step function; each call waits until the test gives it an outcome."""

    __qualname__ = "Held"

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.keys: list[str] = []
        self.attempts: list[int] = []
        self.cancelled: list[str] = []
        self._open: dict[str, asyncio.Future[Any]] = {}
        self._called: dict[str, asyncio.Event] = {}

    async def __call__(self, name: str) -> Any:
        step = fusee.current_step()
        self.calls.append(name)
        self.keys.append(step.key)
        self.attempts.append(step.attempt)
        future = self._open[name] = asyncio.get_running_loop().create_future()
        self._event(name).set()
        try:
            return await future
        except asyncio.CancelledError:
            self.cancelled.append(name)
            raise

    def _event(self, name: str) -> asyncio.Event:
        return self._called.setdefault(name, asyncio.Event())

    async def called(self, name: str) -> None:
        """Wait until the function runs, and forget that it did."""
        await self._event(name).wait()
        self._event(name).clear()

    def give(self, name: str, value: Any = None) -> None:
        """Let a call return."""
        self._open.pop(name).set_result(value)

    def fail(self, name: str, error: BaseException) -> None:
        """Let a call raise."""
        self._open.pop(name).set_exception(error)

    @property
    def running(self) -> list[str]:
        return [name for name, future in self._open.items() if not future.done()]
