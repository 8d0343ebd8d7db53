"""The disk check tells what was measured, on what, and what nobody can measure."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import msgspec
import pytest

from fusee.base.errors import DirectoryRefused
from fusee.io.disk_check import DiskReport, check_disk, render
from fusee.io.measure import Rate, Timing
from fusee.io.methods import Method, candidate_methods
from fusee.io.mounts import Disk, Mount

NVME = DiskReport(
    directory="/nvme/fusee",
    mount=Mount("/nvme", "ext4", "/dev/nvme1n1"),
    disk=Disk("nvme1n1", "Amazon EC2 NVMe Instance Storage", "yes"),
    timings=(
        Timing(Method.DIRECT, 1000, 11_900, 24_000),
        Timing(Method.BUFFERED, 1000, 17_300, 141_000),
    ),
    chosen=Method.DIRECT,
    two_in_flight=Rate(Method.DIRECT, 2, 164_800.4),
    is_memory=False,
)


def test_the_report_reads_like_the_documented_one():
    assert render(NVME).splitlines() == [
        "/nvme/fusee  ext4 on nvme1n1  Amazon EC2 NVMe Instance Storage",
        "  O_DIRECT + RWF_DSYNC    p50   11.9 µs   p99   24.0 µs    ← will be used",
        "  buffered + fdatasync    p50   17.3 µs   p99    141 µs",
        "  two in flight           164 800 writes/s",
        "  reordered or lost after flush: not testable in software;"
        " power-loss protection reported: yes",
    ]


def test_a_method_the_disk_refuses_is_named_with_the_reason():
    report = msgspec.structs.replace(
        NVME,
        disk=None,
        timings=(
            Timing(Method.DIRECT, 0, 0, 0, "Invalid argument"),
            Timing(Method.BUFFERED, 1000, 1_900_000, 12_000_000),
        ),
        chosen=Method.BUFFERED,
    )
    text = render(report)
    assert "O_DIRECT + RWF_DSYNC    not usable here: Invalid argument\n" in text
    assert "buffered + fdatasync    p50    1.9 ms   p99   12.0 ms    ← will be used" in text
    assert "ext4 on /dev/nvme1n1  unknown disk" in text
    assert "power-loss protection reported: unknown" in text


def test_a_real_directory_is_measured_and_left_as_it_was(tmp_path):
    report = check_disk(tmp_path, writes=50)
    assert [timing.method for timing in report.timings] == list(candidate_methods())
    assert all(timing.writes == 50 for timing in report.timings if not timing.error)
    assert report.two_in_flight.writes_per_s > 0
    assert list(tmp_path.iterdir()) == []
    assert re.search(r"two in flight +[\d ]+ writes/s\n", render(report))


def test_the_report_survives_json(tmp_path):
    report = check_disk(tmp_path, writes=20)
    assert msgspec.json.decode(msgspec.json.encode(report), type=DiskReport) == report


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="no tmpfs at /dev/shm")
def test_memory_is_called_memory():
    with tempfile.TemporaryDirectory(dir="/dev/shm") as path:
        text = render(check_disk(Path(path), writes=20))
    assert "tmpfs on memory" in text
    assert "gone when the machine stops" in text


def test_a_missing_directory_is_refused_with_the_command_that_helps(tmp_path):
    with pytest.raises(DirectoryRefused, match=r"does not exist; make it first \(mkdir -p "):
        check_disk(tmp_path / "missing")


def test_a_file_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DirectoryRefused, match="is a file"):
        check_disk(tmp_path / "file")


@pytest.mark.real
@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")
def test_a_directory_of_somebody_else_is_refused(run_python):
    script = """
        import os, sys
        from pathlib import Path
        from fusee.base.errors import DirectoryRefused
        from fusee.io.disk_check import check_disk
        os.setgid(65534)
        os.setuid(65534)
        try:
            check_disk(Path(sys.argv[1]))
        except DirectoryRefused as refused:
            print(refused)
    """
    with tempfile.TemporaryDirectory() as path:
        Path(path).chmod(0o755)
        text = run_python(script, path)
    assert f"{path} is not writable for user 65534" in text
