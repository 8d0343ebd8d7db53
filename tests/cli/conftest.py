"""Commands run in this process, or as a shell would run them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from fusee.cli.main import cli
from tests.support import dev_shop as shop
from tests.support.owners import live

ROOT = Path(__file__).parents[2]


@pytest.fixture
def fusee():
    """Run a command here, as in a pipe."""

    def run(*arguments, stdin=None, **environment):
        given = [str(argument) for argument in arguments]
        return CliRunner().invoke(cli, given, input=stdin, env={"FUSEE_DIR": "", **environment})

    return run


@pytest.fixture
def start_fusee():
    """Start a command as a process of its own; what is still running at the end is killed."""
    started = []

    def start(*arguments, cwd=ROOT, **options):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
        process = subprocess.Popen(
            [sys.executable, "-m", "fusee.cli", *map(str, arguments)],
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(ROOT), "FUSEE_DIR": ""},
            **options,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def start_python():
    """Start a script with our code on its path and both pipes open."""

    def start(script, *arguments):
        return subprocess.Popen(
            [sys.executable, "-c", script, *map(str, arguments)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    return start


@pytest.fixture
def shop_dir(tmp_path):
    """A directory that nobody has open: a run that waits, one that failed, one that is done."""
    directory = tmp_path / "data"
    with live(directory) as owner:
        owner.start(shop.failing, "hopeless")
        owner.start(shop.checkout, "order-1", "tea", 2)
        owner.until_waiting("order-1", 3)
        done = owner.start(shop.checkout, "order-2", "coffee")
        owner.call(lambda: done.signal(shop.review, True))
        owner.call(lambda: done.result(timeout=20))
    return directory
