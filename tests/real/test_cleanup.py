"""Whatever happens to the tests, no mount, loop device or process of theirs stays behind."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.real.capabilities import found, needs
from tests.real.helpers import Hangs, Helper, HelperDied
from tests.real.janitor import Janitor
from tests.support.children import ROOT, environment

pytestmark = pytest.mark.real
END_S = 30.0

_MOUNTS_AND_WAITS = """
import os, sys
from pathlib import Path
from tests.real.blocks import recorded_disk
from tests.real.janitor import Janitor
from tests.real.lives import Bench

base = Path(sys.argv[1])
with Janitor() as janitor, recorded_disk(base / "disk", janitor) as (server, place, _):
    with Bench(base / "bench") as bench:
        print(janitor.pid, server.pid, bench._nursery.pid, bench._outside.pid, flush=True)
        if sys.argv[2] == "wait":
            sys.stdin.readline()
        raise SystemExit("a test that fails")
"""


@needs("linux", "root", "fuse", "loop", "ext4")
@pytest.mark.parametrize("how", ["killed", "failed"])
def test_nothing_stays_mounted_and_no_helper_lives_on(tmp_path, how):
    words = [sys.executable, "-c", _MOUNTS_AND_WAITS, str(tmp_path / "made")]
    with subprocess.Popen(
        [*words, "wait" if how == "killed" else "fail"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(),
        cwd=ROOT,
        text=True,
    ) as tests:
        assert tests.stdout is not None
        helpers = [os.pidfd_open(int(pid)) for pid in tests.stdout.readline().split()]
        if how == "killed":
            assert str(tmp_path) in Path("/proc/self/mounts").read_text()
            tests.send_signal(signal.SIGKILL)
        tests.wait(END_S)

    assert len(helpers) == 4
    for helper in helpers:
        assert select.select([helper], [], [], END_S)[0], "a helper lives on"
        os.close(helper)
    assert str(tmp_path) not in Path("/proc/self/mounts").read_text()
    loops = subprocess.run(
        [found("losetup"), "--all"], capture_output=True, text=True, check=True, timeout=END_S
    )
    assert str(tmp_path) not in loops.stdout


def test_the_janitor_undoes_what_is_left_the_last_first_and_each_once(tmp_path):
    log = tmp_path / "log"
    with Janitor() as janitor:
        keys = [janitor.undo_later("sh", "-c", f"echo {n} >> {log}") for n in range(4)]
        janitor.undo_now(keys[1])
        janitor.forget(keys[0])

    assert log.read_text().split() == ["1", "3", "2"]


def test_the_janitor_says_what_it_could_not_undo():
    with Janitor() as janitor:
        key = janitor.undo_later("false")
        with pytest.raises(AssertionError, match="false"):
            janitor.undo_now(key)


def test_a_helper_that_says_nothing_is_not_waited_for_and_one_that_died_is_named():
    with Helper("tests.real.janitor") as helper:
        with pytest.raises(Hangs):
            helper.hear(0.01)
        os.kill(helper.pid, signal.SIGKILL)
        with pytest.raises(HelperDied, match=r"tests\.real\.janitor"):
            helper.hear()
