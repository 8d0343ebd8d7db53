"""The owner's loop, whose callbacks run when a test says so, and other processes."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
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


@pytest.fixture
def start_python():
    """Start a script with our code on its path and both pipes open."""
    root = str(Path(__file__).parents[2])

    def start(script, *arguments):
        return subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": root},
        )

    return start


@pytest.fixture
def run_python(start_python):
    """Run a script to its end, which must be a good one, and return what it printed."""

    def run(script, *arguments):
        with start_python(script, *arguments) as process:
            out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        return out.strip()

    return run
