"""`fusee dev`: opens, says what it opened, runs until told to stop, and ends cleanly."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys

import pytest

from fusee.admin.client import NoOwner, Owner
from fusee.admin.messages import AskRun, Shown
from tests.support import dev_shop as shop
from tests.support.owners import live

SHOP = "tests.support.dev_shop"
pytestmark = pytest.mark.real


def opened(process):
    """The first line of the table, which comes when the engine is open."""
    lines = [process.stdout.readline().rstrip("\n") for _ in range(3)]
    assert lines[0].startswith("fusee "), process.communicate()
    return lines


def stop(process, number=signal.SIGTERM):
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err


def wait_for_file(path, text, process):
    while not path.exists() or path.read_text() != text:
        assert process.poll() is None, process.communicate()
        os.sched_yield()


def test_it_says_what_it_opened_and_carries_on_with_open_runs(start_fusee, fusee, shop_dir):
    process = start_fusee("dev", f"{SHOP}:workflows", "--dir", shop_dir)
    lines = opened(process)

    assert lines[0].startswith("fusee 0.")
    assert f"  local {shop_dir} (" in lines[0]
    assert lines[1].startswith("flush p50 ")
    names, counts, pid = lines[2].split("      ")
    assert names == "workflows checkout@1 failing@1 slow@1"
    assert counts == "open runs 1, held 0"
    assert pid == f"pid {process.pid}"

    assert fusee("runs", "query", "order-1", "cart", "--dir", shop_dir).exit_code == 0
    assert fusee("runs", "signal", "order-1", "review", "true", "--dir", shop_dir).exit_code == 0
    code, out, _ = stop(process)

    assert (code, out) == (0, "")
    assert not (shop_dir / "owner.sock").exists()


def test_the_default_directory_is_below_the_working_directory(start_fusee, tmp_path):
    process = start_fusee("dev", f"{SHOP}:checkout", cwd=tmp_path)

    assert "  local .fusee (" in opened(process)[0]
    assert stop(process, signal.SIGINT)[0] == 0
    assert (tmp_path / ".fusee" / "lock").exists()


def test_held_runs_are_counted_and_json_is_one_document(start_fusee, shop_dir):
    process = start_fusee("dev", f"{SHOP}:changed", "--dir", shop_dir, "-o", "json")
    document = ""
    while not document.endswith("}\n"):
        document += process.stdout.readline()
    stop(process)

    told = json.loads(document)
    assert (told["open_runs"], told["held_runs"], told["pid"]) == (1, 1, process.pid)


def test_stopping_lets_step_functions_end(start_fusee, tmp_path):
    process, mark = _slow_step(start_fusee, tmp_path, 0.3)

    code, _, err = stop(process)

    assert code == 0
    assert "stopping: 1 step functions still run" in err
    assert mark.read_text() == "done"


def test_a_second_signal_cuts_step_functions_off(start_fusee, fusee, tmp_path):
    process, mark = _slow_step(start_fusee, tmp_path, 60)

    process.send_signal(signal.SIGINT)
    assert any("stopping" in line for line in iter(process.stderr.readline, ""))
    code, _, err = stop(process, signal.SIGINT)

    assert code == 130
    assert "cut off by closing; it runs again" in err
    assert mark.read_text() == "running"
    assert not (tmp_path / "data" / "owner.sock").exists()


def _slow_step(start_fusee, tmp_path, seconds):
    directory, mark = tmp_path / "data", tmp_path / "mark"
    with live(directory, [shop.slow_elsewhere]) as owner:
        owner.start(shop.slow_elsewhere, "slow-1", str(mark), seconds)
    process = start_fusee("dev", f"{SHOP}:workflows", "--dir", directory)
    opened(process)
    wait_for_file(mark, "running", process)
    return process, mark


def test_after_sigkill_the_files_are_read_past_the_stale_socket(start_fusee, fusee, shop_dir):
    process = start_fusee("dev", f"{SHOP}:workflows", "--dir", shop_dir)
    opened(process)
    process.kill()
    process.communicate()
    assert (shop_dir / "owner.sock").exists()

    listed = fusee("runs", "list", "--dir", shop_dir, "-o", "json")
    signalled = fusee("runs", "signal", "order-1", "review", "true", "--dir", shop_dir)

    assert json.loads(listed.stdout)["source"] == "files"
    assert len(json.loads(listed.stdout)["runs"]) == 3
    assert signalled.exit_code == 0
    with live(shop_dir), Owner.connect(shop_dir, 20) as owner:
        assert isinstance(owner.ask(AskRun("order-1")), Shown)


FORKS = """
import asyncio, os, sys
from fusee import Engine
from tests.support import dev_shop as shop

async def main():
    async with Engine.open(sys.argv[1], workflows=shop.workflows):
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.write(writer, b"!")
            sys.stdin.read()
            os._exit(0)
        os.read(reader, 1)  # The child has begun, so it has given up what it inherited.
        print("forked", flush=True)
        os.kill(os.getpid(), 9)

asyncio.run(main())
"""


def test_a_forked_child_does_not_keep_the_socket_of_its_dead_parent(start_python, fusee, shop_dir):
    with start_python(FORKS, shop_dir) as process:
        assert process.stdout.readline() == "forked\n"
        process.wait(30)

        with pytest.raises(NoOwner):
            Owner.connect(shop_dir, 5)
        assert fusee("runs", "list", "--dir", shop_dir).exit_code == 0
        process.stdin.close()


def test_a_locked_directory_is_refused_naming_its_holder(start_fusee, shop_dir):
    with live(shop_dir):
        process = start_fusee("dev", f"{SHOP}:workflows", "--dir", shop_dir)
        _, err = process.communicate(timeout=30)

    assert process.returncode == 5
    assert f"is open in process {os.getpid()}" in err


@pytest.mark.parametrize(
    ("target", "texts"),
    [
        ("tests.support.dev_shop", ["names no workflows; name it as MODULE:ATTR"]),
        ("tests.support.nowhere:x", ["there is no module 'tests.support.nowhere' here"]),
        ("nowhere.app:x", ["there is no module 'nowhere' here", "project's directory"]),
        (f"{SHOP}:missing", ["has no attribute 'missing'", "changed_checkout, checkout, failing"]),
        (f"{SHOP}:number", ["shop:number is 7; it must be", "checkout"]),
        (f"{SHOP}:nothing", ["shop:nothing is []; it must be"]),
        (f"{SHOP}:twice", ["two workflows are registered as checkout@1"]),
        ("tests.support.broken_app:x", ["importing tests.support.broken_app failed", "1 / 0"]),
    ],
)
def test_a_wrong_target_is_wrong_usage_and_opens_nothing(start_fusee, tmp_path, target, texts):
    process = start_fusee("dev", target, "--dir", tmp_path / "data")
    out, err = process.communicate(timeout=30)

    assert (process.returncode, out) == (2, "")
    for text in texts:
        assert text in err
    assert not (tmp_path / "data").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="limits of other processes are Linux's")
def test_a_failed_write_ends_the_owner_with_70_and_the_signal_with_6(start_fusee, fusee, shop_dir):
    process = start_fusee("dev", f"{SHOP}:workflows", "--dir", shop_dir)
    opened(process)
    # A limit on the size of files stands for a disk that refuses a write: EFBIG.
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (64 * 1024, 64 * 1024))

    big = json.dumps("x" * 200_000)
    signalled = fusee("runs", "signal", "order-1", "note", "-", "--dir", shop_dir, stdin=big)
    _, err = process.communicate(timeout=30)

    assert signalled.exit_code == 6, signalled.output
    assert "Repeat it with --id " in signalled.stderr
    assert process.returncode == 70
    assert "the engine has stopped and its process should end" in err
    assert fusee("runs", "show", "order-1", "--dir", shop_dir).exit_code == 0
