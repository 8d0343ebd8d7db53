"""The owner's loop in tests: callbacks queue up and run when the test says so."""

from __future__ import annotations

from queue import Empty, SimpleQueue

import pytest


class Owner:
    """Stands for the application's loop; its thread is the test's."""

    def __init__(self):
        self._callbacks = SimpleQueue()

    def wake(self, callback):
        self._callbacks.put(callback)

    def turn(self):
        """Wait for one callback and run it."""
        self._callbacks.get(timeout=30)()

    def turn_until(self, claim):
        while not claim():
            self.turn()

    def pending(self):
        """Take what is queued, without running it."""
        taken = []
        while True:
            try:
                taken.append(self._callbacks.get_nowait())
            except Empty:
                return taken


@pytest.fixture
def owner():
    return Owner()
