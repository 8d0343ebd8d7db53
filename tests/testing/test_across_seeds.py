"""`across_seeds` runs a test with seeds of its own, and says how to repeat the one that failed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fusee.testing import across_seeds
from fusee.testing.across import seeds_of

ROOT = Path(__file__).parents[2]
seen: list[int] = []


@across_seeds(20)
def test_seeds_are_given_one_after_the_other(seed: int) -> None:
    seen.append(seed)


def test_the_seeds_follow_from_the_name_of_the_test() -> None:
    def test_one(seed: int) -> None: ...

    def test_two(seed: int) -> None: ...

    one = seeds_of(test_one, 100)

    assert len(set(one)) == 100
    assert seeds_of(test_one, 10) == one[:10]
    assert not set(one) & set(seeds_of(test_two, 100))


@across_seeds(2)
def test_fixtures_and_parameters_stay(seed: int, tmp_path: Path) -> None:
    assert tmp_path.is_dir()
    assert seed >= 0


class TestMethods:
    @across_seeds(2)
    def test_methods_work(self, seed: int) -> None:
        assert isinstance(self, TestMethods)


def test_the_first_seed_that_fails_ends_the_test_and_is_named() -> None:
    given: list[int] = []

    @across_seeds(50)
    def test_third(seed: int) -> None:
        given.append(seed)
        assert len(given) < 3

    with pytest.raises(AssertionError) as failure:
        test_third()

    assert len(given) == 3
    (note,) = failure.value.__notes__
    assert f"test_third fails with seed {given[2]} (3 of 50)" in note
    place = "tests/testing/test_across_seeds.py::test_the_first_seed_that_fails_ends"
    assert f"pytest '{place}" in note
    assert note.endswith(f"--fusee-seed {given[2]}")


# ---------------------------------------------------------------- in pytest

TESTS = """
from fusee.testing import across_seeds

@across_seeds(3)
def test_a(seed: int) -> None:
    print(f"seed={seed}")

@across_seeds(3)
def test_b(seed: int) -> None:
    assert seed % 2 == 7

def test_c() -> None:
    pass
"""


def run_pytest(folder: Path, *options: str, plugin: bool = True) -> str:
    (folder / "test_it.py").write_text(TESTS)
    loaded = ["-p", "fusee.testing.pytest_plugin"] if plugin else []
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-s", "-p", "no:cacheprovider", *loaded, *options],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def seeds_said(text: str) -> list[str]:
    return [line.rpartition("seed=")[2] for line in text.splitlines() if "seed=" in line]


@pytest.mark.real
def test_the_options_choose_the_seeds(tmp_path: Path) -> None:
    assert len(seeds_said(run_pytest(tmp_path, "-k", "test_a"))) == 3
    assert len(seeds_said(run_pytest(tmp_path, "-k", "test_a", "--fusee-seeds", "7"))) == 7
    assert seeds_said(run_pytest(tmp_path, "-k", "test_a", "--fusee-seed", "99")) == ["99"]


@pytest.mark.real
def test_a_failure_names_the_command_that_shows_it_again(tmp_path: Path) -> None:
    text = run_pytest(tmp_path)

    assert "1 failed, 2 passed" in text
    (command,) = [line for line in text.splitlines() if "--fusee-seed" in line]
    seed = command.rpartition(" ")[2]
    assert "pytest 'test_it.py::test_b'" in command
    again = run_pytest(tmp_path, "test_it.py::test_b", "--fusee-seed", seed)
    assert f"test_b fails with seed {seed} (1 of 1)" in again


@pytest.mark.real
def test_it_works_without_the_plugin(tmp_path: Path) -> None:
    text = run_pytest(tmp_path, "-k", "test_a", plugin=False)

    assert len(seeds_said(text)) == 3
    assert "1 passed" in text


@pytest.mark.real
@pytest.mark.parametrize("options", [("--fusee-seed", "-1"), ("--fusee-seeds", "0")])
def test_a_wrong_option_is_refused(tmp_path: Path, options: tuple[str, str]) -> None:
    assert "a whole number of at least" in run_pytest(tmp_path, f"{options[0]}={options[1]}")


@pytest.mark.real
def test_the_plugin_brings_nothing_into_a_session_that_does_not_use_it() -> None:
    code = (
        "import sys; before = set(sys.modules); import fusee.testing.pytest_plugin;"
        "print(sorted(m for m in set(sys.modules) - before if m.partition('.')[0] in"
        " ('fusee', 'pytest', '_pytest', 'asyncio', 'msgspec')))"
    )

    said = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True)

    assert said.strip() == str(
        ["fusee", "fusee.testing", "fusee.testing.chosen", "fusee.testing.pytest_plugin"]
    )
