"""File systems made for the test: a full one, a stacked one, a read-only one."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest

from fusee.base.errors import DirectoryRefused
from fusee.io.calibration import calibrate
from fusee.io.directory import Directory
from fusee.io.disk_check import check_disk, render
from fusee.io.file_device import FileDevice
from fusee.io.methods import candidate_methods
from tests.support.devices import open_device

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        sys.platform != "linux" or os.geteuid() != 0, reason="mounting needs root on Linux"
    ),
]


@pytest.fixture
def mounted(tmp_path):
    """Mount a file system below tmp_path, and unmount it afterwards."""
    places = []

    def mount(fs_type, options):
        place = tmp_path / f"mounted-{len(places)}"
        place.mkdir()
        command = ["mount", "-t", fs_type, "-o", options, "fusee-test", str(place)]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=30)
        if done.returncode != 0:
            pytest.skip(f"cannot mount {fs_type} here: {done.stderr.strip()}")
        places.append(place)
        return place

    yield mount
    for place in reversed(places):
        subprocess.run(["umount", str(place)], check=True, timeout=30)


@pytest.mark.parametrize("method", candidate_methods())
def test_a_full_disk_ends_writing_and_leaves_no_half_file(mounted, method):
    place = mounted("tmpfs", "size=64k")
    device = FileDevice(place, method, 0)
    device.create("a", [bytes(4096)])
    before = device.free_bytes()
    with pytest.raises(OSError, match="creating the file failed: No space left") as full:
        device.create("b", [bytes(4096)] * 32)
    assert full.value.errno == errno.ENOSPC
    assert device.free_bytes() == before
    assert sorted(os.listdir(place)) == ["a"]
    with pytest.raises(OSError, match="nothing is written after a failure"):
        device.write("a", 0, bytes(4096))
    assert device.read("a", 0, 4096) == bytes(4096)
    device.close()


def test_growing_a_file_on_a_full_disk_is_an_error(mounted):
    place = mounted("tmpfs", "size=64k")
    device = FileDevice(place, candidate_methods()[0], 0)
    device.create("a", [bytes(4096)])
    with pytest.raises(OSError, match=r"No space left|gave no error"):
        device.write("a", 4096, bytes(32 * 4096))
    device.close()


def test_a_disk_too_full_to_be_measured_is_refused_with_what_to_do(mounted):
    place = mounted("tmpfs", "size=16k")
    with pytest.raises(DirectoryRefused, match=r"No space left.*free some space"):
        calibrate(place)
    with pytest.raises(DirectoryRefused, match=r"No space left.*free some space"):
        check_disk(place)
    assert os.listdir(place) == []


def test_a_disk_too_full_to_name_the_holder_of_a_lock_is_locked_and_released_all_the_same(mounted):
    place = mounted("tmpfs", "size=8k")
    (place / "filling").write_bytes(bytes(8192))

    directory = Directory.acquire(place)

    assert directory.is_held
    assert (place / "lock").read_bytes() == b""
    directory.release()
    Directory.acquire(place).release()


def test_a_read_only_file_system_is_refused_with_what_to_do(mounted):
    place = mounted("tmpfs", "ro")
    with pytest.raises(DirectoryRefused, match="read-only file system; use another"):
        Directory.acquire(place / "new")
    with pytest.raises(DirectoryRefused, match="not writable"):
        check_disk(place)


@pytest.mark.parametrize("below", ["disk", "memory"])
def test_a_stacked_file_system_as_in_containers_works(mounted, tmp_path, below):
    base = tmp_path / "below" if below == "disk" else mounted("tmpfs", "size=8m")
    for name in ("lower", "upper", "work"):
        (base / name).mkdir(parents=True)
    options = f"lowerdir={base}/lower,upperdir={base}/upper,workdir={base}/work"
    place = mounted("overlay", options)
    directory = Directory.acquire(place)
    device = open_device(place)
    device.create("a", [bytes(8192)])
    device.write("a", 4096, b"o" * 4096)
    assert device.read("a", 0, 8192) == bytes(4096) + b"o" * 4096
    device.close()
    directory.release()
    text = render(check_disk(place, writes=20))
    assert "overlay on fusee-test  unknown disk" in text
    assert "power-loss protection reported: unknown" in text
