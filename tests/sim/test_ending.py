"""Ctrl-C and closed pipes: the commands end at once and quietly, and keep what they know."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.real
ROOT = Path(__file__).parent.parent.parent
SWARM = ("sim.swarm", "--level", "tests.sim.tiny_level", "--jobs", "2", "--recheck", "0")
ENDLESS = ("--seeds", "fresh", "--minutes", "9", "--workload", "clean")


def begin(*arguments: str, stdout: int = subprocess.PIPE) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        start_new_session=True,
    )


def ctrl_c(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Interrupt everybody, as a terminal does."""
    os.killpg(process.pid, signal.SIGINT)
    return process.communicate(timeout=60)


def unread(*arguments: str) -> tuple[int, str]:
    """Run a command that writes into a pipe which nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    process = begin(*arguments, stdout=writer)
    os.close(writer)
    _, told = process.communicate(timeout=120)
    return process.returncode, told


def read_until(terminal: int, words: str) -> str:
    """Read what a terminal shows until it shows some words, or is closed."""
    shown = ""
    while not words or words not in shown:
        try:
            shown += os.read(terminal, 1 << 16).decode()
        except OSError:  # Nobody writes to it any more.
            break
    return shown


def workers_of(process: subprocess.Popen[str]) -> list[str]:
    """Return the command lines of whoever is left of a command's session."""
    listed = subprocess.run(
        ["ps", "-o", "args=", "-s", str(process.pid)], capture_output=True, text=True, check=False
    )
    return [line for line in listed.stdout.splitlines() if "sim.worker" in line]


@pytest.mark.parametrize(
    ("workload", "until", "said"),
    [
        ("clean", "seeds  clean ", "interrupted; so far:"),
        ("broken", "violation 1", "seed 5: violation"),
    ],
)
def test_ctrl_c_ends_a_campaign_after_it_has_said_what_it_knows(workload, until, said):
    ours, theirs = os.openpty()
    endless = ("--seeds", "0:1000000000", "--workload", workload, "--failures", "2")
    process = begin(*SWARM, *endless, stdout=theirs)
    os.close(theirs)
    read_until(ours, until)
    _, told = ctrl_c(process)
    shown = read_until(ours, "")

    assert (process.returncode, told) == (130, "")
    assert said in shown
    assert " seeds  clean " in shown.partition("interrupted; so far:")[2]
    assert "smallest after" not in shown
    assert not workers_of(process)


def test_ctrl_c_ends_the_search_for_bugs_without_a_word():
    process = begin("sim.bugs", "--only", "out_of_order_completion_counts", "--only", "no_gate")
    assert process.stderr is not None
    first = process.stderr.readline()
    said, told = ctrl_c(process)

    assert "caught" in first
    assert (process.returncode, said, told) == (130, "", "")
    assert not workers_of(process)


def test_ctrl_c_ends_scenarios_after_those_that_were_played():
    process = begin("sim.scenarios")
    assert process.stdout is not None
    first = process.stdout.readline()
    said, told = ctrl_c(process)

    assert first.endswith(": kept\n")
    assert (process.returncode, told) == (130, "")
    assert "broken" not in said


@pytest.mark.parametrize(
    "arguments",
    [
        (*SWARM, *ENDLESS),
        ("sim.bugs", "--list"),
        ("sim.bugs", "--only", "no_gate", "--seeds", "0"),
        ("sim.scenarios", "new_logs_are_empty"),
    ],
)
def test_a_command_that_nobody_reads_ends_quietly(arguments):
    code, told = unread(*arguments)

    assert code == 141
    assert "Error" not in told
