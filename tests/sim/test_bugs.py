"""The deliberate bugs: each fits the product of today, and each is caught."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

import sim.bugs
import sim.hook
import sim.levels
import sim.scenarios
from sim.bugs import Bug
from sim.bugtable import Row, notice, play_scenario, table

BUGS = sim.bugs.names()
CHECKERS = sim.bugs.names(checkers=True)
TOY = Bug(
    name="toy",
    file="sim/bugs/toy.py",
    description="A toy.",
    module="tests.sim.toy",
    level="byte",
    scenario="new_logs_are_empty",
    fragment="return 1",
    instead="return 2",
)
SOURCE = """\
class A:
    @staticmethod
    def f() -> int:
        return 1


def g() -> int:
    return 0
"""


@pytest.mark.parametrize("name", BUGS + CHECKERS)
def test_every_bug_fits_the_product(name):
    bug = sim.bugs.load(name)

    sim.hook.check_fits(bug)
    assert bug.scenario in sim.scenarios.names()
    assert bug.level in sim.levels.names()
    assert bug.description.endswith(".")


@pytest.mark.parametrize("name", CHECKERS)
def test_every_bug_of_a_checker_says_how_it_is_noticed(name):
    noticed = sim.bugs.load(name).noticed

    assert noticed == "violation" or noticed.removeprefix("canary:") in BUGS


def test_there_are_enough_bugs():
    assert len(BUGS) >= 25
    assert len({sim.bugs.load(name).module for name in BUGS}) >= 15


def test_a_fragment_is_replaced():
    assert "return 2" in sim.hook.changed_source(TOY, SOURCE, "toy.py")


@pytest.mark.parametrize(("fragment", "count"), [("return 5", 0), ("return", 2)])
def test_a_fragment_that_does_not_match_once_names_the_files(fragment, count):
    said = f"sim/bugs/toy.py: FRAGMENT matches {count} times in toy.py"
    with pytest.raises(sim.hook.BugDoesNotFit, match=said):
        sim.hook.changed_source(replace(TOY, fragment=fragment), SOURCE, "toy.py")


def test_a_function_is_replaced_with_its_decorators():
    bug = replace(TOY, function="A.f", instead="\ndef f(self) -> int:\n    return 7\n")
    namespace: dict = {}

    changed = sim.hook.changed_source(bug, SOURCE, "toy.py")

    exec(compile(changed, "toy.py", "exec"), namespace)
    assert "staticmethod" not in changed
    assert namespace["A"]().f() == 7
    assert namespace["g"]() == 0


def test_a_function_that_is_not_there_names_the_files():
    with pytest.raises(sim.hook.BugDoesNotFit, match=r"FUNCTION A.h is there 0 times in toy.py"):
        sim.hook.changed_source(replace(TOY, function="A.h"), SOURCE, "toy.py")


def test_a_bug_that_comes_too_late_is_refused():
    with pytest.raises(sim.hook.BugDoesNotFit, match="is imported already"):
        sim.hook.install(replace(TOY, module="sim.hook"))


def test_a_bug_for_no_module_is_refused():
    with pytest.raises(sim.hook.BugDoesNotFit, match=r"there is no module fusee\.nothing"):
        sim.hook.check_fits(replace(TOY, module="fusee.nothing"))


def test_a_bug_that_does_not_compile_is_refused():
    bug = replace(TOY, module="fusee.base.checksum", fragment="def hash128(", instead="def (")
    with pytest.raises(sim.hook.BugDoesNotFit, match="does not compile"):
        sim.hook.check_fits(bug)


def test_no_bug_has_the_name_of_another():
    with pytest.raises(sim.bugs.UnknownBug, match="there is no bug 'nobody'"):
        sim.bugs.load("nobody")


def test_a_bug_counts_as_caught_only_by_all_that_was_tried():
    assert Row(TOY, "caught").is_caught
    assert not Row(TOY, "missed").is_caught
    assert Row(TOY, "caught", [5, None, 9]).is_caught
    assert Row(TOY, "caught", [5, None, 9]).median == 9
    assert not Row(TOY, "caught", [None]).is_caught
    assert Row(replace(TOY, equivalent="because"), "caught", [None]).is_caught
    assert "| toy | byte | caught | >50 | 0/1 |" in table([Row(TOY, "caught", [None], tried=50)])


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("name", BUGS)
def test_every_bug_is_caught_by_its_scenario(name):
    bug = sim.bugs.load(name)

    assert play_scenario(bug.scenario, name) == "caught"


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKERS)
def test_every_bug_of_a_checker_is_noticed(name):
    assert notice(sim.bugs.load(name)).startswith("noticed")


def sim_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.real
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("sim.bugs", "--only", "nobody"), "sim.bugs: there is no bug 'nobody'"),
        (("sim.bugs", "--level", "sky"), "--level sky: no such bug is of this level"),
        (("sim.bugs", "--starts", "0"), "--jobs and --starts are at least 1, --seeds 0"),
        (("sim.bugs", "--jobs", "0", "--seeds", "0"), "--jobs and --starts are at least 1"),
        (("sim.bugs", "--canary", "no_gate", "--seeds", "0"), "--seeds is at least 1"),
        (("sim.scenarios", "nothing"), "sim.scenarios: there is no 'nothing'"),
        (("sim.scenarios", "new_logs_are_empty", "--bug", "x"), "there is no bug 'x'"),
        (
            ("sim.scenarios", "new_logs_are_empty", "--bug", "message_wakes_nobody"),
            "nothing imports fusee.engine.appending",
        ),
    ],
)
def test_a_bad_command_line_says_what_is_wrong(arguments, said):
    ended = sim_command(*arguments)

    assert ended.returncode == 2
    assert said in ended.stderr


@pytest.mark.real
def test_one_bug_from_the_command_line():
    ended = sim_command("sim.bugs", "--only", "fill_as_new_as_frames", "--seeds", "0")
    assert ended.returncode == 0
    assert "| fill_as_new_as_frames | byte | caught |" in ended.stdout


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize(
    ("bug", "seeds", "code", "said"),
    [
        ("payload_hash_not_checked", "500", 0, "caught after"),
        ("out_of_order_completion_counts", "3", 1, "3 seeds and nobody has noticed"),
    ],
)
def test_a_canary_must_be_caught(bug, seeds, code, said):
    ended = sim_command("sim.bugs", "--canary", bug, "--seeds", seeds)

    assert ended.returncode == code
    assert said in ended.stdout
