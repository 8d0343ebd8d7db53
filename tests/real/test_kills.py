"""Twenty SIGKILLs of a process under load, judged from outside it.

The judge believes two things only: what reached the outside world, a process of its own that
has each line on its disk before it answers; and the log.
"""

from __future__ import annotations

import sys

import pytest

from tests.real.judge import Judge, facts_on_disk
from tests.real.lives import Bench

pytestmark = [
    pytest.mark.real,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="prctl and /proc are Linux's"),
]

KILLS = 20
AT_ONCE = 16
LINES_A_LIFE = 80
"""A life ends after so many lines, give or take; each is killed at another place."""


@pytest.mark.timeout(180)
def test_twenty_kills_under_load_lose_nothing_and_repeat_only_what_was_cut_off(tmp_path):
    judge = Judge()
    path = tmp_path / "log"
    with Bench(tmp_path / "bench") as bench:
        for number in range(KILLS):
            details = {"first": _next(judge.started), "at_once": AT_ONCE}
            life = bench.live(
                path,
                workload="load",
                details=details,
                kill_at=LINES_A_LIFE + 37 * number % 150,
            )
            assert life.was_killed, life
            judge.hear(life.lines)
            judge.look(facts_on_disk(path))
        total = _next(set(facts_on_disk(path).started))
        details = {"first": 0, "at_once": AT_ONCE, "total": total}
        judge.hear(bench.live(path, workload="load", details=details).lines)
        judge.look_at_the_end(facts_on_disk(path))

    print(f"{KILLS} kills, {len(judge.started)} starts, {judge.acks} acks")
    assert judge.violations == []
    assert len(judge.results) > 100, "the load was too small to be a test"
    extra = sum(len(c) - len({call["attempt"] for call in c}) for c in judge.calls.values())
    assert 0 < extra < KILLS * AT_ONCE * 3, "some calls were cut off, at most those in flight"


def _next(runs: set[str]) -> int:
    numbers = [int(run.removeprefix("order-").removesuffix("/1")) for run in runs]
    return max(numbers, default=-1) + 1
