"""The runner: finds, shrinks, reports, and never mistakes a lost worker for a clean seed."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from sim.swarm import CLEAN, FAILED, USAGE, main
from tests.sim import tiny_level

LEVEL = "tests.sim.tiny_level"
pytestmark = pytest.mark.real


def swarm(capsys, workload: str, *more: str, seeds: str = "0:20") -> tuple[int, str]:
    command = f"--seeds {seeds} --level {LEVEL} --workload {workload} --jobs 2"
    code = main([*shlex.split(command), *more])
    return code, capsys.readouterr().out


def test_a_clean_campaign_says_what_it_did(capsys, tmp_path):
    code, out = swarm(capsys, "clean", "--json", str(tmp_path / "out.json"))

    assert code == CLEAN
    said = (
        r"20 seeds  clean 20  [\d,]+ seeds/h/core  crashes 60  recoveries 60"
        r"  faults: lost 20 rot 20 torn 20"
    )
    assert re.search(said, out)
    summary = json.loads((tmp_path / "out.json").read_text())
    assert summary["verdicts"] == {"clean": 20}
    assert summary["work"]["commits"]["histogram"] == {"8-15": 20}
    assert summary["marks"] == {"even": 10, "odd": 10}


def test_a_violation_is_shrunk_to_a_command_that_shows_it_again(capsys):
    code, out = swarm(capsys, "broken")

    assert code == FAILED
    assert "seed 5: violation\n  acknowledged start of a/1 is lost\n  and one more\n" in out
    assert "the last 40 events:" in out
    first, last = re.findall(r"replay: python -m sim.swarm (.+)", out)
    assert "--without" not in first
    assert "--without rot,torn" in last
    assert "--clients 2" in last
    assert int(re.search(r"--events (\d+)", last).group(1)) in range(37, 40)

    assert main([*shlex.split(last), "--no-shrink"]) == FAILED
    assert "acknowledged start of a/1 is lost" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("workload", "said"),
    [
        ("dies", "seed 5: crashed\n  the process of this seed died by signal 9"),
        ("exits", "seed 5: crashed\n  the process of this seed ended with code 3"),
        ("hangs", "seed 5: stuck\n  this seed hangs: no outcome after 1 s"),
        ("raises", "seed 5: crashed\n  ZeroDivisionError: of our own code"),
    ],
)
def test_a_worker_that_is_lost_is_a_finding_and_the_other_seeds_are_run(capsys, workload, said):
    options = ["--seed-seconds", "1", "--failures", "3", "--no-shrink"]
    code, out = swarm(capsys, workload, *options)

    assert code == FAILED
    assert said in out
    assert "20 seeds  clean 19 " in out
    if workload == "hangs":
        assert "in run_seed" in out, "where it hangs"
    if workload == "exits":
        assert "last words" in out


def test_a_trace_that_depends_on_the_hash_seed_is_a_violation(capsys):
    code, out = swarm(capsys, "leaks")

    assert code == FAILED
    assert "seed 0: violation\n  not deterministic: trace hash" in out


def test_a_long_campaign_that_misses_a_mark_fails_and_names_it(capsys):
    code, out = swarm(capsys, "unmarked", seeds="0:10000")

    assert code == FAILED
    assert "mark never reached: odd" in out
    assert "mark never reached: even" not in out


def test_a_campaign_of_idle_seeds_fails(capsys):
    code, out = swarm(capsys, "idle", seeds="0:1000")

    assert code == FAILED
    assert "idle seeds: commits: half of the seeds did at most 0, the floor is 5" in out


def test_a_reduced_campaign_is_not_judged_by_its_marks(capsys):
    code, _ = swarm(capsys, "idle", "--without", "torn", seeds="0:1000")

    assert code == CLEAN


def test_fresh_seeds_begin_where_they_say_and_end_in_time(capsys):
    code, out = swarm(capsys, "clean", "--minutes", "0.02", seeds="fresh")

    assert code == CLEAN
    assert re.match(r"seeds from \d+ on\n", out)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--seeds x", "two numbers as in 0:1000, or fresh"),
        ("--seeds 5:5", "from a number up to a larger one"),
        ("--seeds fresh", "has no end: say for how many --minutes"),
        ("--seeds 1 --level nothing", "--level nothing: there is"),
        ("--seeds 1 --without smoke", "level tiny has lost, rot, torn"),
        ("--seeds 1 --workload shop", "level tiny has ['clean', "),
        ("--seeds 1 --bug none", "there is no bug 'none'"),
        ("--seeds 1 --clients 0", "--clients 0: at least 1"),
        ("--seeds 1 --events -1", "--events -1: at least 0"),
        ("--seeds 1 --minutes nan", "--minutes nan: more than 0"),
        ("--seeds 1 --minutes -1", "--minutes -1.0: more than 0"),
        ("--seeds 1 --json /nowhere/found.json", "/nowhere/found.json: there is no such"),
        ("--seeds 1 --recheck-python /nowhere", "--recheck-python /nowhere: there is no such"),
        ("--seeds 1 --jobs 0", "--jobs, --failures and --seed-seconds are at least 1"),
    ],
)
def test_a_bad_command_line_says_what_is_wrong(capsys, arguments, said):
    level = [] if "--level" in arguments else ["--level", LEVEL]

    assert main([*shlex.split(arguments), *level]) == USAGE
    assert said in capsys.readouterr().err


def test_an_argument_that_is_not_known_is_refused(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--seeds", "1", "--smoke"])
    assert ended.value.code == USAGE


def test_the_tiny_level_can_do_what_the_tests_ask_for():
    assert tiny_level.run_seed(1, tiny_level.Options()).is_clean
