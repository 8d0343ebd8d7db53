"""The test that docs/testing.md shows first finds the bugs that such tests are for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.testing.test_docs import PAGE, ROOT, programs

PLANTED = """
import sys
import sim.bugs, sim.hook

for bug in sim.bugs.load_all(sys.argv[1]):
    sim.hook.install(bug)

import pytest

options = ["-q", "-p", "no:cacheprovider", "-p", "fusee.testing.pytest_plugin", "-k", "two_amounts"]
sys.exit(pytest.main([*options, "--fusee-seeds", "100"]))
"""


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.parametrize(
    ("bug", "said"),
    [
        ("no_gate", "came with two inputs: charge("),
        ("start_acked_early", "RunNotFound"),
        ("signal_acked_early", "assert None == 'ch_1'"),
        ("overdue_timer_lost", "the world is stuck"),
        ("superblock_one_copy", "could not open its directory"),
    ],
)
def test_a_planted_bug_is_found(tmp_path: Path, bug: str, said: str) -> None:
    (tmp_path / "shop.py").write_text(programs((ROOT / "README.md").read_text())[0])
    (tmp_path / "test_shop.py").write_text(programs(PAGE)[0])

    done = subprocess.run(
        [sys.executable, "-c", PLANTED, bug],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "1 failed" in done.stdout, done.stdout + done.stderr
    assert said in done.stdout
    assert "--fusee-seed " in done.stdout
