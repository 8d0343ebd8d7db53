"""One process a directory; whoever comes second is told who came first and what to do."""

from __future__ import annotations

import os
import socket
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from fusee.base.errors import DirectoryLocked, DirectoryRefused
from fusee.io.directory import LOCK_FILE, Directory, check_file_system
from fusee.io.mounts import Mount

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


@pytest.fixture
def other_process_holding(start_python):
    """A process that has a directory open; killed at the end unless it is dead by then."""

    @contextmanager
    def hold(path):
        script = """
            import sys
            from fusee.io.directory import Directory
            directory = Directory.acquire(sys.argv[1])
            print("open", flush=True)
            sys.stdin.read()
        """
        with start_python(script, path) as process:
            try:
                assert process.stdout.readline() == "open\n"
                yield process
            finally:
                process.kill()

    return hold


def test_a_missing_directory_is_made_with_its_parents_for_its_owner_only(tmp_path):
    path = tmp_path / "a" / "b"
    Directory.acquire(path).release()
    assert path.stat().st_mode & 0o777 == 0o700
    assert [entry.name for entry in path.iterdir()] == [LOCK_FILE]


def test_a_relative_path_is_remembered_absolutely(tmp_path):
    path = os.path.relpath(tmp_path)
    directory = Directory.acquire(path)
    assert directory.path.is_absolute()
    directory.release()


@pytest.mark.real
def test_another_process_is_named_by_pid_and_host(tmp_path, other_process_holding):
    with other_process_holding(tmp_path) as process:
        with pytest.raises(DirectoryLocked, match="one worker per host") as locked:
            Directory.acquire(tmp_path)
        assert locked.value.pid == process.pid
        assert locked.value.host == socket.gethostname()
        assert f"process {process.pid} on {socket.gethostname()} since 2" in str(locked.value)


@pytest.mark.real
def test_a_killed_process_leaves_no_obstacle(tmp_path, other_process_holding):
    with other_process_holding(tmp_path) as process:
        process.kill()
        process.wait()
        Directory.acquire(tmp_path).release()


def test_the_same_process_is_told_that_it_is_itself(tmp_path):
    first = Directory.acquire(tmp_path)
    with pytest.raises(DirectoryLocked, match="already open in this process") as locked:
        Directory.acquire(tmp_path)
    assert locked.value.pid == os.getpid()
    first.release()


def test_another_path_to_the_same_directory_is_the_same_directory(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    first = Directory.acquire(tmp_path / "real")
    with pytest.raises(DirectoryLocked, match="already open in this process"):
        Directory.acquire(tmp_path / "link")
    first.release()


def test_release_is_idempotent_and_lets_others_in(tmp_path):
    first = Directory.acquire(tmp_path)
    first.release()
    second = Directory.acquire(tmp_path)
    first.release()
    with pytest.raises(DirectoryLocked):
        Directory.acquire(tmp_path)
    second.release()


@pytest.mark.parametrize("content", [b"", b"\xff", b"{}", b"17", b"x" * 10_000])
@pytest.mark.real
def test_what_the_lock_file_says_is_never_believed(tmp_path, content, other_process_holding):
    (tmp_path / LOCK_FILE).write_bytes(content)
    Directory.acquire(tmp_path).release()
    with other_process_holding(tmp_path):
        (tmp_path / LOCK_FILE).write_bytes(content)
        with pytest.raises(DirectoryLocked, match="open in another process") as locked:
            Directory.acquire(tmp_path)
        assert (locked.value.pid, locked.value.host) == (0, "")


@pytest.mark.real
def test_a_withheld_lock_is_held_until_the_process_ends(tmp_path, run_python):
    script = """
        import sys
        from fusee.base.errors import DirectoryLocked
        from fusee.io.directory import Directory
        directory = Directory.acquire(sys.argv[1])
        directory.withhold_release("a buffered flush failed")
        directory.release()
        assert directory.is_held
        try:
            Directory.acquire(sys.argv[1])
        except DirectoryLocked as locked:
            print(locked)
    """
    text = run_python(script, tmp_path)
    assert "a buffered flush failed; restart the process" in text
    Directory.acquire(tmp_path).release()


def test_a_refused_open_leaves_no_descriptor(tmp_path):
    first = Directory.acquire(tmp_path)
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(DirectoryLocked):
        Directory.acquire(tmp_path)
    assert len(os.listdir("/dev/fd")) == before
    first.release()


# ---------------------------------------------------------------- refusals


def test_a_file_in_place_of_the_directory_is_refused(tmp_path):
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(DirectoryRefused, match="is not a directory; name one"):
            Directory.acquire(path)


def test_a_link_to_nowhere_is_refused(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(DirectoryRefused, match="is not a directory"):
        Directory.acquire(tmp_path / "link")


def test_a_directory_in_place_of_the_lock_file_is_refused(tmp_path):
    (tmp_path / LOCK_FILE).mkdir()
    with pytest.raises(DirectoryRefused, match="cannot be opened"):
        Directory.acquire(tmp_path)


@pytest.mark.parametrize("path", ["with\0zero", "long" * 100])
def test_an_impossible_name_is_refused(tmp_path, path):
    with pytest.raises(DirectoryRefused):
        Directory.acquire(tmp_path / path)


@pytest.mark.parametrize("fs_type", ["nfs4", "cifs", "fuse.sshfs"])
def test_network_file_systems_are_refused(tmp_path, fs_type):
    mount = Mount("/home", fs_type, "server:/home")
    with pytest.raises(DirectoryRefused, match=f"{fs_type}, server:/home.*use a directory on a"):
        check_file_system(tmp_path, mount)


@pytest.mark.parametrize("fs_type", ["ext4", "xfs", "tmpfs", "overlay", "unknown"])
def test_local_file_systems_are_not(tmp_path, fs_type):
    check_file_system(tmp_path, Mount("/", fs_type, "x"))


@needs_root
@pytest.mark.parametrize("below", ["", "new"])
@pytest.mark.real
def test_no_permission_is_refused_with_the_command_that_helps(below, run_python):
    script = """
        import os, sys
        from fusee.base.errors import DirectoryRefused
        from fusee.io.directory import Directory
        os.setgid(65534)
        os.setuid(65534)
        try:
            Directory.acquire(sys.argv[1])
        except DirectoryRefused as refused:
            print(refused)
    """
    for mode in (0o755, 0o700):
        with tempfile.TemporaryDirectory() as home:
            Path(home).chmod(mode)
            text = run_python(script, Path(home) / below)
        assert "no permission for user 65534" in text
        assert "chown 65534" in text


# ---------------------------------------------------------------- fork


@needs_fork
@pytest.mark.real
def test_a_forked_child_may_not_use_the_engine_and_cannot_release_it(tmp_path, run_python):
    script = """
        import os, sys
        from fusee.base.errors import DirectoryLocked, ForkedEngine
        from fusee.io.directory import Directory
        directory = Directory.acquire(sys.argv[1])
        directory.check_owner()
        child = os.fork()
        if child == 0:
            try:
                directory.check_owner()
            except ForkedEngine as forked:
                print(forked, flush=True)
            directory.release()
            try:
                Directory.acquire(sys.argv[1])
            except DirectoryLocked as locked:
                print(locked.pid == os.getppid(), flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        directory.check_owner()
        print(directory.is_held)
    """
    lines = run_python(script, tmp_path).splitlines()
    assert "was opened by the parent of this process" in lines[0]
    assert lines[1:] == ["True", "True"]


@needs_fork
@pytest.mark.real
def test_a_child_that_outlives_its_parent_does_not_keep_the_lock(tmp_path, start_python):
    script = """
        import os, sys
        from fusee.io.directory import Directory
        directory = Directory.acquire(sys.argv[1])
        ready_r, ready_w = os.pipe()
        if os.fork() == 0:
            os.write(ready_w, b"x")
            os.close(1)
            os.close(2)
            sys.stdin.read()
            os._exit(0)
        os.read(ready_r, 1)
        print("forked", flush=True)
        os._exit(0)
    """
    with start_python(script, tmp_path) as process:
        assert process.stdout.readline() == "forked\n"
        process.wait()
        # The child lives: it reads our pipe until this block closes it.
        Directory.acquire(tmp_path).release()


@needs_fork
@pytest.mark.real
def test_a_child_may_open_a_directory_of_its_own(tmp_path, run_python):
    script = """
        import os, sys
        from fusee.io.directory import Directory
        Directory.acquire(sys.argv[1] + "/parent")
        child = os.fork()
        if child == 0:
            own = Directory.acquire(sys.argv[1] + "/child")
            own.check_owner()
            own.release()
            os._exit(0)
        print(os.waitpid(child, 0)[1])
    """
    assert run_python(script, tmp_path) == "0"


def test_checking_the_owner_is_silent_in_the_process_that_opened(tmp_path):
    directory = Directory.acquire(tmp_path)
    directory.check_owner()
    directory.release()


@pytest.mark.real
def test_on_windows_a_directory_says_that_it_is_unsupported(run_python):
    """Not Windows, but what our modules see of it: its name, and no fcntl."""
    script = """
        import logging, msgspec, pathlib, queue, socket, sys, tempfile, threading
        sys.platform = "win32"
        sys.modules["fcntl"] = None
        from fusee.base.errors import DirectoryRefused
        from fusee.io import calibration, clock, submitter, threads
        from fusee.io.directory import Directory
        from fusee.io.disk_check import check_disk
        for attempt in (Directory.acquire, check_disk):
            try:
                attempt(pathlib.Path("anywhere"))
            except DirectoryRefused as refused:
                print(refused)
    """
    first, second = run_python(script).splitlines()
    assert "not supported on Windows; use Engine.open" in first
    assert "not supported on win32" in second
