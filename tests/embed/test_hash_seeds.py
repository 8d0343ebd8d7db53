"""What one process recorded, processes with other hash seeds replay to the same end."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support import children

PROGRAM = "tests.embed.hash_seed_program"
SEEDS = 20


@pytest.mark.slow
@pytest.mark.real
def test_twenty_processes_with_other_hash_seeds_see_what_the_first_one_saw(tmp_path: Path) -> None:
    written = tmp_path / "written"
    wrote = children.run(PROGRAM, "write", str(written), PYTHONHASHSEED="1")
    assert wrote.returncode == 0, wrote.stderr

    def replay(seed: int) -> str:
        directory = tmp_path / str(seed)
        shutil.copytree(written, directory)
        done = children.run(PROGRAM, "replay", str(directory), PYTHONHASHSEED=str(seed))
        assert done.returncode == 0, done.stderr
        shutil.rmtree(directory)
        return done.stdout

    with ThreadPoolExecutor(2) as pool:
        outputs = set(pool.map(replay, range(SEEDS)))

    assert len(outputs) == 1, outputs
    results = json.loads(outputs.pop())
    assert results["aborts"][:-2] == [str(i) for i in range(8)], "in order of creation"
    assert len(results["waits"]) == len(results["completes"]) == 13
