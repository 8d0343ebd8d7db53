"""The disk is measured once; a remembered result is trusted only if ours and of this disk."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import msgspec
import pytest

from fusee.base.errors import DirectoryRefused
from fusee.io.calibration import (
    CALIBRATION_FILE,
    Calibration,
    calibrate,
    choose,
    encode,
    faster,
    identify_disk,
    recall,
)
from fusee.io.disk_check import check_disk
from fusee.io.measure import SCRATCH_PREFIX, Timing
from fusee.io.methods import Method, candidate_methods

MEMORY = Path("/dev/shm")


def why_not(directory: Path) -> str:
    remembered = recall(directory, identify_disk(directory))
    return remembered if isinstance(remembered, str) else "remembered"


@pytest.fixture
def measured(tmp_path):
    # The disk of a test run may be slow; this result is past doubt.
    remember(tmp_path, measurements=3)
    return tmp_path


def test_the_first_open_measures_every_method_and_remembers(tmp_path):
    assert why_not(tmp_path) == "it was not measured before"
    made = calibrate(tmp_path)
    assert [timing.method for timing in made.timings] == list(candidate_methods())
    assert made.flush_ns > 0
    assert all(timing.writes > 0 and timing.p50_ns <= timing.p99_ns for timing in made.timings)
    remembered = recall(tmp_path, identify_disk(tmp_path))
    assert isinstance(remembered, Calibration)
    assert remembered.flush_ns == made.flush_ns


def test_measuring_leaves_nothing_but_its_result(measured):
    assert [path.name for path in measured.iterdir()] == [CALIBRATION_FILE]


def test_the_second_open_does_not_measure(measured):
    content = (measured / CALIBRATION_FILE).read_bytes()
    calibrate(measured)
    assert (measured / CALIBRATION_FILE).read_bytes() == content


def test_no_flipped_byte_is_trusted(measured):
    path = measured / CALIBRATION_FILE
    good = path.read_bytes()
    for place in range(len(good)):
        path.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
        assert why_not(measured) != "remembered", place


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"{}", b"[1]", b'{"format": 2}'])
def test_foreign_content_is_measured_over(measured, content):
    (measured / CALIBRATION_FILE).write_bytes(content)
    assert "damaged or of another version" in why_not(measured)
    calibrate(measured)
    assert why_not(measured) == "remembered"


def test_a_file_of_a_later_format_is_measured_over(measured):
    later = msgspec.structs.replace(calibrate(measured), format=2)
    (measured / CALIBRATION_FILE).write_bytes(encode(later))
    assert "another version" in why_not(measured)


def test_a_method_of_another_system_is_not_used(measured):
    other = Method.FULLFSYNC if sys.platform == "linux" else Method.DIRECT
    foreign = msgspec.structs.replace(calibrate(measured), method=other)
    (measured / CALIBRATION_FILE).write_bytes(encode(foreign))
    assert why_not(measured) == f"{other} does not exist here"


def test_another_kernel_means_another_measurement(measured):
    identity = msgspec.structs.replace(identify_disk(measured), kernel="Linux 9.9")
    assert "moved to another disk" in str(recall(measured, identity))


@pytest.mark.skipif(not MEMORY.is_dir(), reason="no second file system at hand")
def test_a_directory_moved_to_another_disk_is_measured_again(measured):
    with tempfile.TemporaryDirectory(dir=MEMORY) as elsewhere:
        shutil.copy(measured / CALIBRATION_FILE, elsewhere)
        assert "moved to another disk" in why_not(Path(elsewhere))
        assert calibrate(Path(elsewhere)).identity == identify_disk(Path(elsewhere))


def test_a_disk_that_cannot_be_measured_is_refused(tmp_path):
    with pytest.raises(DirectoryRefused, match="measuring the disk failed"):
        calibrate(tmp_path / "missing")


MEASURES = """
    import sys
    from pathlib import Path
    from fusee.io.measure import scratch_directory
    with scratch_directory(Path(sys.argv[1])) as scratch:
        (scratch / "file").write_bytes(bytes(4096))
        print(scratch.name, flush=True)
        sys.stdin.read()
"""


def scratch_of(directory: Path) -> list[str]:
    return [path.name for path in directory.glob(f"{SCRATCH_PREFIX}*")]


@pytest.mark.real
@pytest.mark.parametrize("looks", [calibrate, check_disk])
def test_what_a_killed_measurement_left_is_removed_by_the_next(start_python, tmp_path, looks):
    with start_python(MEASURES, tmp_path) as process:
        name = process.stdout.readline().rstrip("\n")
        process.kill()
    assert scratch_of(tmp_path) == [name]

    looks(tmp_path)

    assert scratch_of(tmp_path) == []


@pytest.mark.real
def test_what_is_remembered_is_no_reason_to_keep_what_a_killed_disk_check_left(
    start_python, measured
):
    with start_python(MEASURES, measured) as process:
        process.stdout.readline()
        process.kill()

    calibrate(measured)

    assert [path.name for path in measured.iterdir()] == [CALIBRATION_FILE]


@pytest.mark.real
def test_a_measurement_that_goes_on_beside_is_left_alone(start_python, tmp_path):
    with start_python(MEASURES, tmp_path) as process:
        name = process.stdout.readline().rstrip("\n")

        calibrate(tmp_path)
        check_disk(tmp_path, writes=20)

        assert scratch_of(tmp_path) == [name]
        assert (tmp_path / name / "file").read_bytes() == bytes(4096)
        process.stdin.close()
        assert process.wait(30) == 0
    assert scratch_of(tmp_path) == []


def test_what_only_looks_like_one_is_left_alone(tmp_path):
    (tmp_path / f"{SCRATCH_PREFIX}file").touch()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"{SCRATCH_PREFIX}link").symlink_to(tmp_path / "elsewhere")

    calibrate(tmp_path)

    assert len(scratch_of(tmp_path)) == 2
    assert (tmp_path / "elsewhere").is_dir()


def remember(directory: Path, **changes) -> Calibration:
    made = msgspec.structs.replace(calibrate(directory), **changes)
    (directory / CALIBRATION_FILE).write_bytes(encode(made))
    return made


def test_a_slow_result_is_measured_again_and_the_faster_kept(measured):
    remember(measured, flush_ns=3_600_000_000_000, measurements=1)
    again = calibrate(measured)
    assert again.flush_ns < 3_600_000_000_000
    assert again.measurements == 2


def test_a_result_three_times_slow_is_believed(measured):
    slow = remember(measured, flush_ns=5_000_000, measurements=3)
    assert calibrate(measured).flush_ns == slow.flush_ns


def test_a_fast_result_is_believed_at_once(measured):
    fast = remember(measured, flush_ns=1, measurements=1)
    assert calibrate(measured).flush_ns == fast.flush_ns


def test_a_worse_second_measurement_changes_the_count_only(measured):
    old = remember(measured, flush_ns=400_000, measurements=1)
    new = msgspec.structs.replace(old, flush_ns=4_000_000, method=candidate_methods()[-1])
    assert faster(old, new) == msgspec.structs.replace(old, measurements=2)


def timing(method: Method, p50_ns: int, error: str = "") -> Timing:
    return Timing(method, 200, p50_ns, p50_ns * 2, error)


@pytest.mark.parametrize(
    ("direct_ns", "buffered_ns", "chosen"),
    [
        (80_000, 120_000, Method.DIRECT),
        (80_000, 75_000, Method.DIRECT),
        (80_000, 60_000, Method.BUFFERED),
        (80_000, 65_000, Method.DIRECT),
    ],
)
def test_noise_does_not_change_the_preferred_method(direct_ns, buffered_ns, chosen):
    best = choose([timing(Method.DIRECT, direct_ns), timing(Method.BUFFERED, buffered_ns)])
    assert best is not None
    assert best.method is chosen


def test_a_method_that_failed_is_not_chosen():
    refused = timing(Method.DIRECT, 0, "Invalid argument")
    best = choose([refused, timing(Method.BUFFERED, 900_000)])
    assert best is not None
    assert best.method is Method.BUFFERED
    assert choose([refused]) is None


def test_the_file_is_what_its_type_says(measured):
    content = (measured / CALIBRATION_FILE).read_bytes()
    assert encode(msgspec.json.decode(content, type=Calibration)) == content
