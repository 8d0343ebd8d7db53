"""Every exit code, brought about; and that a script's pipe reads nothing but answers."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys

import pytest

from fusee.admin.messages import Refused
from fusee.base.checksum import hash128
from fusee.base.errors import DecodeError, EngineStopped, QueryFailed, RunHeld, StorageFull
from fusee.cli.exits import ExitCode, failure_of_refusal
from fusee.io.file_device import FileDevice
from fusee.io.file_log import FileLog
from fusee.io.methods import candidate_methods
from fusee.log import superblock as sb
from tests.support import dev_shop as shop
from tests.support.logs import next_batch
from tests.support.owners import live, strange
from tests.support.submitters import InlineSubmitter


def ends(result, code, *texts):
    assert result.exit_code == code, result.output
    for text in texts:
        assert text in result.stderr
    assert result.stdout == ""


async def too_late():
    await asyncio.Event().wait()


async def hang_up():
    raise EngineStopped("the engine has stopped: a write failed")


def raising(error):
    async def act():
        raise error

    return act


# ---------------------------------------------------------------- 0, 1, 2


def test_0_is_an_answer(fusee, shop_dir):
    assert fusee("--version").exit_code == ExitCode.OK
    assert fusee("--version").stdout.startswith("fusee ")
    assert fusee("runs", "list", "--dir", shop_dir).exit_code == ExitCode.OK


def test_1_is_a_query_whose_handler_raised(fusee, shop_dir):
    with live(shop_dir):
        result = fusee("runs", "query", "order-1", "broken", "--dir", shop_dir)

    ends(result, 1, "fusee: query 'broken' raised Declined('no answer today')")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["fly"], "No such command"),
        (["runs", "list", "--status", "happy"], "'happy' is not one of"),
        (["runs", "list", "--limit", "0"], "0 is not in the range"),
        (["runs", "show", " "], "the workflow ID is blank"),
        (["runs", "show", "x" * 513], "over the limit of 512"),
        (["runs", "show", "a", "--run", "0"], "0 is not in the range"),
        (["runs", "signal", "a", ""], "the name is empty"),
        (["runs", "signal", "a", "go", "{true"], "is not JSON"),
        (["runs", "signal", "a", "go", "hello"], "a text is written '\"like this\"'"),
        (["runs", "signal", "a", "go", "1", "--id", "\0"], "holds a NUL"),
        (["runs", "query", "a"], "Missing argument 'NAME'"),
        (["runs", "list", "-o", "xml"], "'xml' is not one of"),
        (["disk-check"], "Missing argument 'DIR'"),
    ],
)
def test_2_is_wrong_usage(fusee, arguments, text):
    ends(fusee(*arguments), 2, text)


# ---------------------------------------------------------------- 4


def test_4_is_a_query_that_nobody_can_answer(fusee, shop_dir):
    ends(fusee("runs", "query", "order-1", "cart", "--dir", shop_dir), 4, "`fusee dev MODULE:ATTR")


def test_4_is_a_query_of_a_held_run(fusee, shop_dir):
    with live(shop_dir, shop.changed) as owner:
        owner.until_held("order-1")
        result = fusee("runs", "query", "order-1", "cart", "--dir", shop_dir)

    ends(result, 4, "the journal recorded step 'charge' here")


def test_4_is_an_owner_that_does_not_listen(fusee, shop_dir):
    with live(shop_dir):
        (shop_dir / "owner.sock").unlink()
        for command in (["list"], ["show", "order-1"], ["signal", "order-1", "go"]):
            result = fusee("runs", *command, "--dir", shop_dir, "--timeout", "0.2")
            ends(result, 4, f"open in process {os.getpid()}", "does not listen at owner.sock")


def test_4_is_a_read_whose_owner_was_lost(fusee, shop_dir):
    with strange(shop_dir, hang_up):
        ends(fusee("runs", "list", "--dir", shop_dir), 4, "a write failed")


# ---------------------------------------------------------------- 5


@pytest.mark.parametrize("is_live", [True, False], ids=["owner", "files"])
def test_5_is_a_signal_to_a_finished_run(fusee, shop_dir, is_live):
    def send():
        return fusee("runs", "signal", "order-2", "review", "true", "--dir", shop_dir)

    if is_live:
        with live(shop_dir):
            result = send()
    else:
        result = send()

    ends(result, 5, "run order-2/1 has finished")


def test_5_is_a_file_in_place_of_a_directory(fusee, tmp_path):
    (tmp_path / "file").write_text("")

    ends(fusee("runs", "list", "--dir", tmp_path / "file"), 5, "is not a directory")
    ends(fusee("disk-check", tmp_path / "file"), 5, "is a file")


def test_5_is_a_damaged_superblock(fusee, shop_dir):
    path = shop_dir / sb.FILE
    path.write_bytes(bytes(path.stat().st_size))

    for command in (["list"], ["show", "order-1"], ["signal", "order-1", "go"]):
        ends(fusee("runs", *command, "--dir", shop_dir), 5, "superblock:")


def test_5_is_a_directory_of_another_format(fusee, shop_dir):
    path = shop_dir / sb.FILE
    data = bytearray(path.read_bytes())
    for copy in range(sb.COPY_COUNT):
        at = sb.copy_offset(copy)
        data[at : at + 4096] = reformatted(bytes(data[at : at + 4096]), version=9)
    path.write_bytes(data)

    for command in (["list"], ["show", "order-1"], ["signal", "order-1", "go"]):
        result = fusee("runs", *command, "--dir", shop_dir)
        ends(result, 5, "written in format 9", "Open the directory with the build that wrote it")


def reformatted(block, version):
    """A copy of the superblock as another build would write it."""
    tail = version.to_bytes(4, "little") + block[32:]
    return block[:8] + hash128(tail) + block[24:28] + tail


def test_one_bad_copy_of_the_superblock_is_reported_and_read_past(fusee, shop_dir):
    with (shop_dir / sb.FILE).open("r+b") as file:
        file.write(bytes(4096))

    result = fusee("runs", "list", "--dir", shop_dir)

    assert result.exit_code == 0
    assert "superblock: copies [0] are bad" in result.stderr
    assert "order-1" in result.stdout


def test_5_is_lost_data_with_its_positions(fusee, shop_dir):
    segment = shop_dir / "segment-000000000001"
    with segment.open("r+b") as file:
        # The second frame of the log: later ones prove that it was acknowledged.
        file.seek(3 * 4096)
        file.write(bytes(4096))

    for command in (["list"], ["show", "order-1"], ["signal", "order-1", "go"]):
        result = fusee("runs", *command, "--dir", shop_dir)
        ends(result, 5, "\n  segment-000000000001, byte ", "Restore this directory from a backup")


def tear_last_write(directory):
    """Leave a directory as power does that goes during a write: some of its units are old."""
    segment = directory / "segment-000000000001"
    device = FileDevice(directory, candidate_methods()[-1], 0)
    log = FileLog.open(
        device, submitter=InlineSubmitter(device), on_batch=lambda batch: None, now_us=0
    ).log
    before = segment.read_bytes()
    batch = next_batch(log.head_op + 1, log.head_hash, size=3000)
    log.submit(batch, log.durable_op, lambda error: None)
    device.close()
    after = segment.read_bytes()
    units = range(0, len(after), 512)
    last = max(i for i in units if before[i : i + 512] != after[i : i + 512])
    with segment.open("r+b") as file:
        file.seek(last)
        file.write(before[last : last + 512])


def test_a_torn_tail_is_no_obstacle_and_is_reported(fusee, shop_dir):
    tear_last_write(shop_dir)

    result = fusee("runs", "list", "--dir", shop_dir)

    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 4
    assert "note: segment-000000000001, byte " in result.stderr
    assert "class T" in result.stderr


def test_5_is_a_full_disk(fusee, shop_dir):
    with strange(shop_dir, raising(StorageFull("the disk is nearly full"))):
        ends(fusee("runs", "signal", "a", "go", "--dir", shop_dir), 5, "nearly full")


# ---------------------------------------------------------------- 6


def test_6_is_a_signal_whose_engine_stopped(fusee, shop_dir):
    with strange(shop_dir, hang_up):
        result = fusee("runs", "signal", "a", "go", "--id", "webhook-88", "--dir", shop_dir)

    ends(result, 6, "a write failed", "Repeat it with --id webhook-88")


def test_6_is_a_signal_that_was_not_answered_in_time(fusee, shop_dir):
    with strange(shop_dir, too_late):
        result = fusee("runs", "signal", "a", "go", "--timeout", "0.2", "--dir", shop_dir)

    ends(result, 6, "did not answer within 0.2 s", "Repeat it with --id ")


# ---------------------------------------------------------------- 9


@pytest.mark.parametrize("command", [["list"], ["show", "a"], ["signal", "a", "go"]])
def test_9_is_no_such_directory(fusee, tmp_path, command):
    ends(fusee("runs", *command, "--dir", tmp_path / "none"), 9, "does not exist", "--dir")
    ends(fusee("runs", *command, "--dir", tmp_path), 9, "is not a Fusee directory")
    assert list(tmp_path.iterdir()) == []


def test_9_is_a_disk_check_of_nothing(fusee, tmp_path):
    ends(fusee("disk-check", tmp_path / "none"), 9, "mkdir -p")


@pytest.mark.parametrize("is_live", [True, False], ids=["owner", "files"])
def test_9_is_no_such_run(fusee, shop_dir, is_live):
    def ask():
        for command in (["show", "order-9"], ["signal", "order-9", "go"]):
            ends(fusee("runs", *command, "--dir", shop_dir), 9, "no run has the ID 'order-9'")

    if is_live:
        with live(shop_dir):
            ask()
    else:
        ask()


def test_9_is_no_such_query(fusee, shop_dir):
    with live(shop_dir):
        result = fusee("runs", "query", "order-1", "total", "--dir", shop_dir)

    ends(result, 9, "checkout has no query 'total' (known: broken, cart)")


# ---------------------------------------------------------------- 70, 130, 141


def test_70_is_a_bug_of_ours(fusee, shop_dir):
    with strange(shop_dir, raising(KeyError("lost"))):
        ends(fusee("runs", "list", "--dir", shop_dir), 70, "KeyError: 'lost'")


@pytest.mark.real
def test_130_is_ctrl_c(start_fusee, shop_dir):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(shop_dir / "owner.sock"))
        listener.listen()
        listener.settimeout(30)
        process = start_fusee("runs", "list", "--dir", shop_dir)
        connection, _ = listener.accept()
        with connection:
            assert connection.recv(2) == b"fz"  # It waits for its answer now.
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=30)

    assert (process.returncode, told) == (130, "")


@pytest.mark.real
def test_141_is_a_reader_that_left(start_fusee, shop_dir):
    reader, writer = os.pipe()
    os.close(reader)
    process = start_fusee("runs", "list", "--dir", shop_dir, stdout=writer)
    os.close(writer)
    _, told = process.communicate(timeout=30)

    assert process.returncode == 141
    assert "Traceback" not in told


@pytest.mark.real
def test_signals_sent_at_once_without_an_owner_wait_for_one_another(start_fusee, fusee, shop_dir):
    senders = [start_fusee("runs", "signal", "order-1", "go", n, "--dir", shop_dir) for n in "123"]
    outcomes = [(sender.communicate(timeout=60), sender.returncode) for sender in senders]

    assert outcomes == [(("signalled (durable)\n", ""), 0)] * 3
    shown = fusee("runs", "show", "order-1", "--dir", shop_dir).stdout
    assert "unread signals: go ×3" in shown


@pytest.mark.real
def test_a_pipe_reads_long_payloads_whole_and_without_colour(start_fusee, tmp_path):
    long = "x" * 1_000_000
    with live(tmp_path) as owner:
        owner.start(shop.checkout, "order-1", long)
        owner.until_waiting("order-1", 3)
    process = start_fusee("runs", "show", "order-1", "--journal", "--dir", tmp_path)
    shown, _ = process.communicate(timeout=30)

    assert process.returncode == 0
    assert f'{{"sku":"{long}"}}' in shown
    assert "\x1b" not in shown


@pytest.mark.real
def test_a_terminal_that_knows_only_ascii_is_served(shop_dir):
    done = subprocess.run(
        [sys.executable, "-m", "fusee.cli", "runs", "show", "hopeless", "--dir", shop_dir],
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": "."},
        capture_output=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("error", "code"), [(QueryFailed("no"), 1), (RunHeld("held"), 4), (DecodeError("no"), 5)]
)
def test_what_the_engine_refuses_has_its_code(fusee, shop_dir, error, code):
    with strange(shop_dir, raising(error)):
        assert fusee("runs", "query", "a", "q", "--dir", shop_dir).exit_code == code


def test_a_refusal_of_a_later_release_is_told_by_its_text():
    failure = failure_of_refusal(Refused("since_2_0", "the moon is full"), changes=True)

    assert (failure.exit_code, failure.message) == (5, "the moon is full")
