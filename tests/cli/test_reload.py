"""`fusee dev --reload`: a change of code starts the workflows anew, in good order."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from fusee.cli.exits import CommandFailed
from fusee.cli.reload import _Reloader
from tests.support import dev_shop as shop
from tests.support.owners import live

pytest.importorskip("watchfiles")
pytestmark = pytest.mark.real

SHOP = "tests.support.dev_shop"
APP = """
from fusee import Context, workflow
from tests.support.dev_shop import slow

@workflow
async def first(ctx: Context) -> None:
    pass
"""
ONE = APP + "workflows = [first, slow]\n"
TWO = APP + "\n@workflow\nasync def second(ctx: Context) -> None:\n    pass\n\n"
TWO += "workflows = [first, second, slow]\n"


class Session:
    """`fusee dev app:workflows --reload` in a directory of its own."""

    def __init__(self, start_fusee, place, *options, app=ONE):
        self.place = place
        self.data = place / "data"
        self.write(app)
        self.process = start_fusee(
            *("dev", "app:workflows", "--reload", "--dir", "data", *options),
            cwd=place,
            start_new_session=True,
        )

    def write(self, app):
        """Change the code, at once as editors do."""
        (self.place / "app.new").write_text(app)
        (self.place / "app.new").replace(self.place / "app.py")

    def opened(self):
        """Wait until the workflows run; return the last line of what is said then."""
        lines = [self.process.stdout.readline() for _ in range(3)]
        assert lines[0].startswith("fusee "), self.process.communicate()
        return lines[2].split("      ")

    def told(self, text):
        """Wait for a line on stderr, and return it."""
        for line in iter(self.process.stderr.readline, ""):
            if text in line:
                return line
        raise AssertionError(f"never told: {text}")

    def ended(self):
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err

    def press_ctrl_c(self):
        """As a terminal does: both processes hear it."""
        os.killpg(self.process.pid, signal.SIGINT)


def pid_of(opened):
    return int(opened[2].removeprefix("pid "))


@pytest.fixture
def session(start_fusee, tmp_path):
    def start(*options, **changes):
        return Session(start_fusee, tmp_path, *options, **changes)

    return start


def slow_run(session_place, seconds):
    mark = session_place / "mark"
    with live(session_place / "data", [shop.slow_elsewhere]) as owner:
        owner.start(shop.slow_elsewhere, "slow-1", str(mark), seconds)
    return mark


def wait_for(mark, text, process):
    while not mark.exists() or mark.read_text() != text:
        assert process.poll() is None, process.communicate()
        os.sched_yield()


def test_a_change_is_named_and_the_workflows_start_anew_with_the_new_code(session):
    it = session()
    before = it.opened()
    assert before[0] == "workflows first@1 slow@1"

    it.write(TWO)

    assert it.told("changed") == "reload: app.py changed\n"
    after = it.opened()
    assert after[0] == "workflows first@1 second@1 slow@1"
    assert pid_of(after) != pid_of(before)
    it.press_ctrl_c()
    assert it.ended()[0] == 0


def test_a_step_function_that_runs_may_end_before_the_new_code_starts(session, tmp_path):
    mark = slow_run(tmp_path, 0.3)
    it = session()
    assert it.opened()[1] == "open runs 1, held 0"
    wait_for(mark, "running", it.process)

    it.write(TWO)

    assert "1 step functions still run" in it.told("stopping")
    assert it.opened()[1] == "open runs 0, held 0"
    assert mark.read_text() == "done"
    it.process.terminate()
    assert it.ended()[0] == 0


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        ("workflows = [\n", "SyntaxError"),
        ("import nowhere\n", "No module named 'nowhere'"),
        ("x = 1\n", "has no attribute"),
    ],
)
def test_code_that_cannot_be_loaded_is_printed_and_the_next_change_tried(session, broken, text):
    it = session(app=broken)
    it.told(text)
    it.told("waiting for a change")

    it.write(ONE)
    it.opened()
    it.write(broken)
    it.told("waiting for a change")
    it.write(TWO)

    assert it.opened()[0] == "workflows first@1 second@1 slow@1"
    it.press_ctrl_c()
    assert it.ended()[0] == 0


def test_ctrl_c_while_it_waits_for_a_change_ends_it(session):
    it = session(app="workflows = [\n")
    it.told("waiting for a change")

    it.press_ctrl_c()

    assert it.ended()[0] == 0


@pytest.mark.parametrize("whom", ["both", "first"])
def test_one_ctrl_c_lets_step_functions_end_whoever_hears_it(session, tmp_path, whom):
    mark = slow_run(tmp_path, 0.3)
    it = session()
    it.opened()
    wait_for(mark, "running", it.process)

    if whom == "both":
        it.press_ctrl_c()
    else:
        it.process.send_signal(signal.SIGINT)

    code, _, err = it.ended()
    assert (code, mark.read_text()) == (0, "done"), err


@pytest.mark.parametrize("whom", ["both", "first"])
def test_the_second_ctrl_c_cuts_step_functions_off(session, tmp_path, whom):
    mark = slow_run(tmp_path, 60)
    it = session()
    it.opened()
    wait_for(mark, "running", it.process)
    press = it.press_ctrl_c if whom == "both" else it.process.terminate

    press()
    it.told("stopping: 1 step functions still run")
    press()

    code, _, err = it.ended()
    assert (code, mark.read_text()) == (130, "running"), err
    assert "cut off by closing" in err


def test_code_that_never_stops_is_killed_by_the_third_request(session):
    it = session(app="import time\nprint('blocks', flush=True)\ntime.sleep(600)\n")
    assert it.process.stdout.readline() == "blocks\n"

    for heard in ("reload: stopping", "once more kills it", "did not stop and is killed"):
        it.process.terminate()
        it.told(heard)

    assert it.ended()[0] == 128 + signal.SIGKILL


def test_a_change_gets_past_code_that_never_stops(session):
    it = session("--drain", 0, app="import time\nprint('blocks', flush=True)\ntime.sleep(600)\n")
    assert it.process.stdout.readline() == "blocks\n"

    it.write(ONE)

    it.told("did not stop and is killed")
    it.opened()
    it.press_ctrl_c()
    assert it.ended()[0] == 0


def test_the_workflows_stop_in_good_order_when_the_first_process_is_killed(session, tmp_path):
    mark = slow_run(tmp_path, 0.3)
    it = session()
    it.opened()
    wait_for(mark, "running", it.process)

    it.process.kill()

    assert it.process.stdout.read() == "", "which ends when the second process has ended"
    assert mark.read_text() == "done"
    assert not (it.data / "owner.sock").exists()


def test_an_end_that_no_change_of_code_can_mend_ends_it_with_the_same_code(session, tmp_path):
    with live(tmp_path / "data"):
        code, _, err = session().ended()
    assert code == 5
    assert f"is open in process {os.getpid()}" in err


def test_who_stops_the_workflows_stops_both(session):
    it = session()
    os.kill(pid_of(it.opened()), signal.SIGTERM)

    assert it.ended()[0] == 0


def test_a_target_that_names_nothing_is_wrong_usage_at_once(start_fusee, tmp_path):
    process = start_fusee("dev", "app", "--reload", cwd=tmp_path)

    _, err = process.communicate(timeout=30)

    assert process.returncode == 2
    assert "names no workflows" in err


WITHOUT = """
import sys
sys.modules["watchfiles"] = None
from fusee.cli.main import main
sys.argv = ["fusee", "dev", "tests.support.dev_shop:workflows", "--reload"]
sys.stderr = sys.stdout
main()
"""


def test_without_its_package_it_says_what_to_install(start_python):
    with start_python(WITHOUT) as process:
        assert "pip install 'fusee[reload]'" in process.communicate(timeout=30)[0]
    assert process.returncode == 2


def test_a_module_that_lies_elsewhere_is_watched_there_too(start_fusee, tmp_path):
    place = tmp_path / "here"
    place.mkdir()

    process = start_fusee("dev", f"{SHOP}:workflows", "--reload", cwd=place)

    root = Path(__file__).parents[2]
    assert f"watching {place}, {root / 'tests'} (pid " in process.stderr.readline()


def test_files_that_cannot_be_watched_end_it_and_say_why(tmp_path):
    async def too_many():
        raise OSError("the limit on watches is reached")
        yield set()

    arguments = ["--dir", str(tmp_path / "data"), "--", f"{SHOP}:workflows"]

    async def main():
        return await _Reloader(arguments, [tmp_path], too_many(), 60).run()

    with pytest.raises(CommandFailed, match=f"watching {tmp_path} failed: the limit") as failed:
        asyncio.run(main())
    assert failed.value.exit_code == 1
