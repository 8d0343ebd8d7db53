"""The quickstart of the README is a program that runs, and that does what the text says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def quickstart() -> str:
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    return program


@pytest.mark.real
def test_the_quickstart_runs(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(quickstart().replace('"10m"', '"10ms"'))

    done = subprocess.run(
        [sys.executable, "shop.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stderr == ""
    assert done.stdout == "ch_order-123/1/2_19.80\n"
    assert (tmp_path / "data").is_dir()
