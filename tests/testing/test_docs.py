"""docs/testing.md: its tests are tests that pass, and it tells of everything that there is."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fusee import testing
from fusee.testing import Faults

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "testing.md").read_text()


def programs(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page, re.DOTALL)


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.real
def test_the_tests_of_the_page_pass(tmp_path: Path) -> None:
    (shop,) = programs((ROOT / "README.md").read_text())
    (tests,) = programs(PAGE)
    (tmp_path / "shop.py").write_text(shop.replace('"10m"', '"10ms"'))
    run(tmp_path, "shop.py")
    (tmp_path / "data").rename(tmp_path / "journals")
    (tmp_path / "shop.py").write_text(shop)
    (tmp_path / "test_shop.py").write_text(tests)

    said = run(
        tmp_path,
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "fusee.testing.pytest_plugin"),
        *("--fusee-seeds", "20"),
    )

    assert "3 passed" in said, said


def test_every_public_name_and_every_fault_is_told() -> None:
    names = [*testing.__all__, *(field.name for field in dataclasses.fields(Faults))]

    assert [name for name in names if f"{name}" not in PAGE] == []
