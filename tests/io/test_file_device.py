"""The file device does what the log believes about a disk, on every file system at hand."""

from __future__ import annotations

import errno
import os
import resource
import sys
import tempfile
from pathlib import Path
from threading import Thread

import pytest

from fusee.base.limits import BLOCK_SIZE, KIB, MIB
from fusee.io.file_device import FileDevice
from fusee.io.methods import Method, candidate_methods
from fusee.log.device import NotBegun
from tests.support.descriptors import no_descriptors_left

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="O_DIRECT is Linux's")


@pytest.fixture(params=["disk", "memory"])
def directory(request, tmp_path):
    if request.param == "disk":
        yield tmp_path
        return
    if not Path("/dev/shm").is_dir():
        pytest.skip("no tmpfs at /dev/shm")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as path:
        yield Path(path)


@pytest.fixture(params=candidate_methods())
def device(request, directory):
    made = FileDevice(directory, request.param, 1000)
    yield made
    made.close()


def blocks(*letters: str) -> bytes:
    return b"".join(letter.encode() * BLOCK_SIZE for letter in letters)


def test_what_was_written_is_read(device):
    device.create("a", [blocks("x", "y", "z")])
    device.write("a", BLOCK_SIZE, blocks("w"))
    assert device.read("a", 0, 3 * BLOCK_SIZE) == blocks("x", "w", "z")


def test_a_frame_built_in_the_buffer_is_written(device):
    device.create("a", [bytes(64 * KIB)])
    frame = device.buffer(2 * BLOCK_SIZE)
    frame[:] = blocks("p", "q")
    device.write("a", 4 * BLOCK_SIZE, frame)
    device.write("a", 8 * BLOCK_SIZE, frame[BLOCK_SIZE:])
    assert device.read("a", 4 * BLOCK_SIZE, 2 * BLOCK_SIZE) == blocks("p", "q")
    assert device.read("a", 8 * BLOCK_SIZE, BLOCK_SIZE) == blocks("q")


def test_any_bytes_are_taken_however_they_lie_in_memory(device):
    device.create("a", [bytes(64 * KIB)])
    unaligned = memoryview(b"_" + blocks("u", "v"))[1:]
    device.write("a", 0, unaligned)
    assert device.read("a", 0, 2 * BLOCK_SIZE) == blocks("u", "v")


def test_building_the_next_frame_leaves_the_one_in_flight_alone(device):
    first = device.buffer(BLOCK_SIZE)
    first[:] = blocks("1")
    device.buffer(BLOCK_SIZE)[:] = blocks("2")
    assert first == blocks("1")


def test_the_buffer_grows_to_the_largest_frame(device):
    small = device.buffer(BLOCK_SIZE)
    small[:] = blocks("s")
    device.create("a", [bytes(8 * MIB)])
    for _ in range(2):
        large = device.buffer(8 * MIB)
        assert len(large) == 8 * MIB
        large[-BLOCK_SIZE:] = blocks("e")
        device.write("a", 0, large)
    assert device.read("a", 8 * MIB - BLOCK_SIZE, BLOCK_SIZE) == blocks("e")
    assert len(device.read("a", 0, 8 * MIB)) == 8 * MIB


def test_reading_past_the_end_returns_what_is_there(device):
    device.create("a", [blocks("x"), b"tail"])
    assert device.read("a", 0, 4 * BLOCK_SIZE) == blocks("x") + b"tail"
    assert device.read("a", BLOCK_SIZE, BLOCK_SIZE) == b"tail"
    assert device.read("a", 8 * BLOCK_SIZE, BLOCK_SIZE) == b""


def test_size_tells_a_missing_file_from_an_empty_one(device):
    device.create("empty", [])
    assert device.size("empty") == 0
    assert device.size("missing") == -1


def test_files_lists_finished_files_only(device, directory):
    device.create("b", [b"2"])
    device.create("a", [b"1"])
    (directory / "c.new").write_bytes(b"half")
    (directory / "sub").mkdir()
    assert device.files() == ["a", "b"]


def test_what_a_crash_left_of_create_can_be_removed(device, directory):
    device.create("a", [b"1"])
    (directory / "c.new").write_bytes(b"half")
    assert device.remove_unfinished() == ["c.new"]
    assert os.listdir(directory) == ["a"]


def test_create_over_leftovers_of_a_crash_starts_clean(device, directory):
    (directory / "a.new").write_bytes(b"longer than what follows")
    device.create("a", [b"new"])
    assert (directory / "a").read_bytes() == b"new"


def test_create_replaces_a_file_that_is_open(device):
    device.create("a", [blocks("x")])
    device.write("a", 0, blocks("y"))
    assert device.read("a", 0, BLOCK_SIZE) == blocks("y")
    device.create("a", [blocks("z")])
    assert device.read("a", 0, BLOCK_SIZE) == blocks("z")
    device.write("a", 0, blocks("w"))
    assert device.read("a", 0, BLOCK_SIZE) == blocks("w")


def test_a_renamed_file_is_found_under_its_new_name_only(device):
    device.create("old", [blocks("x")])
    device.create("new", [blocks("y")])
    device.write("old", 0, blocks("o"))
    device.write("new", 0, blocks("n"))
    device.read("new", 0, BLOCK_SIZE)
    device.rename("old", "new")
    assert device.read("new", 0, BLOCK_SIZE) == blocks("o")
    assert device.size("old") == -1
    device.write("new", 0, blocks("p"))
    assert device.read("new", 0, BLOCK_SIZE) == blocks("p")


def test_free_bytes_is_what_the_file_system_says(device):
    assert 0 < device.free_bytes() < 1 << 60


def test_a_write_to_a_missing_file_names_it(device, directory):
    with pytest.raises(FileNotFoundError, match="opening it for") as refused:
        device.write("missing", 0, blocks("x"))
    assert refused.value.filename == f"{directory}/missing"


def test_after_a_failure_nothing_is_written_again(device):
    device.create("a", [blocks("x")])
    device.write("a", 0, blocks("y"))
    with pytest.raises(FileNotFoundError):
        device.write("missing", 0, blocks("x"))
    for attempt in (
        lambda: device.write("a", 0, blocks("z")),
        lambda: device.create("b", [b""]),
        lambda: device.rename("a", "c"),
    ):
        with pytest.raises(OSError, match="nothing is written after a failure") as refused:
            attempt()
        assert refused.value.errno == errno.EIO
    assert isinstance(device.failure, FileNotFoundError)
    assert device.read("a", 0, BLOCK_SIZE) == blocks("y")
    assert device.files() == ["a"]


def test_a_write_cut_short_by_the_system_is_an_error(device):
    """RLIMIT_FSIZE makes the kernel cut a write, as a full disk would."""
    device.create("a", [bytes(2 * BLOCK_SIZE)])
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3 * BLOCK_SIZE, before[1]))
    try:
        with pytest.raises(OSError, match=r"wrote 4096 of 8192 bytes at offset 8192"):
            device.write("a", 2 * BLOCK_SIZE, blocks("x", "y"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with pytest.raises(OSError, match="nothing is written after a failure"):
        device.write("a", 0, blocks("z"))


def test_a_refused_write_keeps_the_systems_error_number(device, directory):
    device.create("a", [bytes(2 * BLOCK_SIZE)])
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * BLOCK_SIZE, before[1]))
    try:
        with pytest.raises(OSError, match="write of 4096 bytes at 8192 failed") as refused:
            device.write("a", 2 * BLOCK_SIZE, blocks("x"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert refused.value.errno == errno.EFBIG
    assert refused.value.filename == f"{directory}/a"


def test_close_is_idempotent_and_leaves_no_descriptor(directory):
    before = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    device = FileDevice(directory, candidate_methods()[0], 0)
    device.create("a", [blocks("x")])
    device.write("a", 0, blocks("y"))
    device.read("a", 0, BLOCK_SIZE)
    with pytest.raises(FileNotFoundError):
        device.write("missing", 0, blocks("x"))
    device.close()
    device.close()
    if sys.platform == "linux":
        assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.skipif(sys.platform != "linux", reason="/proc lists the descriptors")
def test_a_log_of_many_segments_uses_few_descriptors(device):
    before = len(os.listdir("/proc/self/fd"))
    names = [f"segment-{number:012}" for number in range(100)]
    device.create("superblock", [blocks("s")])
    device.write("superblock", 0, blocks("S"))
    for number, name in enumerate(names):
        device.create(name, [blocks("-")])
        device.write(name, 0, bytes([number]) * BLOCK_SIZE)
    for number, name in enumerate(names):
        assert device.read(name, 0, BLOCK_SIZE) == bytes([number]) * BLOCK_SIZE
    device.write("superblock", 0, blocks("T"))
    device.write(names[0], 0, blocks("0"))

    assert device.read(names[0], 0, BLOCK_SIZE) == blocks("0")
    assert device.read("superblock", 0, BLOCK_SIZE) == blocks("T")
    assert len(os.listdir("/proc/self/fd")) - before <= 40


def test_a_closed_device_refuses(directory):
    device = FileDevice(directory, candidate_methods()[0], 0)
    device.create("a", [blocks("x")])
    device.close()
    for attempt in (
        lambda: device.write("a", 0, blocks("y")),
        lambda: device.read("a", 0, BLOCK_SIZE),
        lambda: device.size("a"),
        device.files,
        device.free_bytes,
    ):
        with pytest.raises(OSError, match="the device is closed"):
            attempt()


def test_reads_and_writes_of_other_files_run_beside_each_other(device):
    device.create("log", [bytes(64 * KIB)])
    device.create("other", [blocks("o") * 16])
    seen: set[bytes] = set()

    def read_often() -> None:
        for _ in range(50):
            seen.add(device.read("other", 0, 64 * KIB))

    reader = Thread(target=read_often)
    reader.start()
    for index in range(50):
        device.write("log", index % 16 * BLOCK_SIZE, blocks("l"))
    reader.join()
    assert seen == {blocks("o") * 16}
    assert device.read("log", 0, 64 * KIB) == blocks("l") * 16


def test_a_renamed_directory_keeps_its_files(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    device = FileDevice(home, candidate_methods()[0], 0)
    home.rename(tmp_path / "moved")
    device.create("a", [b"x"])
    assert (tmp_path / "moved" / "a").read_bytes() == b"x"
    device.close()


@linux_only
def test_reads_fall_back_where_o_direct_is_refused():
    device = FileDevice(Path("/proc/self"), Method.BUFFERED, 0)
    assert device.read("status", 0, BLOCK_SIZE).startswith(b"Name:")
    device.close()


@linux_only
def test_a_file_system_that_refuses_o_direct_says_so_at_the_first_write():
    device = FileDevice(Path("/proc/self"), Method.DIRECT, 0)
    with pytest.raises(OSError, match="opening it for O_DIRECT"):
        device.write("comm", 0, blocks("x"))
    device.close()


@linux_only
@pytest.mark.real
@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")
def test_an_ordinary_user_writes_too(run_python):
    script = """
        import os, sys
        from pathlib import Path
        from fusee.io.file_device import FileDevice
        from fusee.io.methods import Method
        os.setgid(65534)
        os.setuid(65534)
        for method in (Method.DIRECT, Method.BUFFERED):
            device = FileDevice(Path(sys.argv[1]), method, 0)
            device.create("a", [bytes(4096)])
            device.write("a", 0, b"n" * 4096)
            assert device.read("a", 0, 4096) == b"n" * 4096
            device.close()
    """
    # Not pytest's tmp_path: its parents are closed to other users.
    with tempfile.TemporaryDirectory() as home:
        os.chown(home, 65534, 65534)
        run_python(script, home)


def test_a_file_that_cannot_be_opened_now_leaves_the_device_as_it_was(device):
    device.create("a", [blocks("x")])
    for number in range(20):
        device.create(f"b{number}", [blocks("b")])

    with no_descriptors_left():
        for attempt in (
            lambda: device.write("a", 0, blocks("y")),
            lambda: device.create("c", [blocks("c")]),
        ):
            with pytest.raises(NotBegun, match="Too many open files"):
                attempt()

    assert device.failure is None
    assert "c" not in device.files()
    assert device.remove_unfinished() == []
    device.write("a", 0, blocks("z"))
    device.create("c", [blocks("c")])
    assert device.read("a", 0, BLOCK_SIZE) == blocks("z")


def test_a_file_is_open_for_writing_from_its_creation_on_under_whatever_name(device):
    device.create("old", [blocks("x")])
    device.rename("old", "new")

    with no_descriptors_left():
        device.write("new", 0, blocks("y"))

    assert device.read("new", 0, BLOCK_SIZE) == blocks("y")


def test_a_file_made_while_another_write_failed_is_not_written(device, directory):
    device.create("a", [blocks("x")])

    def chunks():
        yield blocks("b")
        with pytest.raises(FileNotFoundError):
            device.write("missing", 0, blocks("x"))

    device.create("b", chunks())

    with pytest.raises(OSError, match="nothing is written after a failure"):
        device.write("b", 0, blocks("c"))
