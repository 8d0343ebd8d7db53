"""Twenty SIGKILLs of a process under load, judged from outside it.

The judge believes two things only: what the process printed before it died, and the service's
own log of the calls it got.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import ENVIRONMENT

pytestmark = [pytest.mark.real, pytest.mark.slow]

KILLS = 20
LINES_A_LIFE = 60
"""A life ends after so many lines, give or take; each is killed at another place."""


class Judge:
    def __init__(self) -> None:
        self.started: set[str] = set()
        self.results: dict[str, Any] = {}

    def hear(self, line: str) -> None:
        said = json.loads(line)
        if "start" in said:
            self.started.add(said["start"])
        elif "result" in said:
            before = self.results.setdefault(said["result"], said["value"])
            assert before == said["value"], "a result that somebody has seen changed"

    @property
    def next_number(self) -> int:
        numbers = [int(name.removeprefix("order-")) for name in self.started]
        return max(numbers, default=-1) + 1


def _live(directory: Path, judge: Judge, *mode: str, lines: int | None = None) -> int:
    command = [
        sys.executable, "-m", "tests.support.victim",
        str(directory / "log"), str(directory / "service"), str(judge.next_number), *mode,
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as victim:
        assert victim.stdout is not None
        for number, line in enumerate(victim.stdout):
            if line.endswith("\n"):
                judge.hear(line)
            if number == lines:
                victim.send_signal(signal.SIGKILL)
                # What it had printed before it died counts too.
    return victim.returncode


def _calls(directory: Path) -> dict[str, list[dict[str, Any]]]:
    calls: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in (directory / "service").read_text().splitlines():
        call = json.loads(line)
        calls[call["key"]].append(call)
    return calls


@pytest.mark.timeout(180)
def test_twenty_kills_under_load_lose_nothing_and_repeat_only_what_was_cut_off(tmp_path):
    judge = Judge()
    for life in range(KILLS):
        assert _live(tmp_path, judge, lines=LINES_A_LIFE + 7 * life % 50) == -signal.SIGKILL
    assert len(judge.results) > 100, "the load was too small to be a test"
    assert _live(tmp_path, judge, "last") == 0
    assert judge.started == set(judge.results), "every acknowledged run finishes"

    calls = _calls(tmp_path)
    for key, of_key in calls.items():
        inputs = [call["input"] for call in of_key]
        assert all(given == inputs[0] for given in inputs), f"{key} saw two inputs: {inputs}"
        attempts = [call["attempt"] for call in of_key]
        assert attempts == sorted(attempts), f"{key}: {attempts}"
        assert len(of_key) <= attempts[-1] + KILLS
    for name, value in judge.results.items():
        last = calls[f"{name}/1/{_last_position(calls, name)}"][-1]
        assert value[-2] == last["answer"], f"{name}: its last call brought another result"
    extra = sum(len(c) - len({call["attempt"] for call in c}) for c in calls.values())
    assert 0 < extra < KILLS * 16 * 3, "some calls were cut off, at most those in flight"


def _last_position(calls: dict[str, Any], name: str) -> int:
    prefix = f"{name}/1/"
    return max(int(key.removeprefix(prefix)) for key in calls if key.startswith(prefix))
