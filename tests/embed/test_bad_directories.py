"""A directory that cannot be opened says why, and stays byte for byte what it was."""

from __future__ import annotations

import asyncio
import functools
import os
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fusee import AcknowledgedDataLost, DirectoryRefused, Engine
from fusee.base.checksum import hash128
from fusee.embed.assembly import Assembly, assemble_on
from fusee.embed.programs import Registry
from fusee.io.directory import Directory
from fusee.log import superblock as sb
from fusee.log.segment import DATA_START, SegmentSizes
from tests.support.counting import count_up
from tests.support.devices import open_device

SIZES = SegmentSizes(first_bytes=64 * 1024, next_bytes=64 * 1024)
RUNS = 12
NOT_THE_LOG = ("lock", "calibration.json", "owner.sock")


def _assemble(path: Path, clock: Any, wake: Any) -> Assembly:
    directory = Directory.acquire(path)
    return assemble_on(open_device(path), directory, clock, wake, sizes=SIZES)


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of several small segments, well closed."""
    path = tmp_path_factory.mktemp("pristine") / "log"

    async def main() -> None:
        async with Engine(functools.partial(_assemble, path), Registry([count_up])) as engine:
            for number in range(RUNS):
                assert await engine.run(count_up, f"run-{number}", 3) == 3

    asyncio.run(main())
    assert len(_segments(path)) >= 4
    return path


@pytest.fixture
def path(pristine: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(pristine, tmp_path / "log"))


def _segments(path: Path) -> list[Path]:
    return sorted(path.glob("segment-*"))


def _content(path: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in path.iterdir() if p.name not in NOT_THE_LOG}


async def _open(path: Path) -> list[str]:
    async with Engine.open(path, workflows=[count_up]) as engine:
        found = [await engine.get(count_up, f"run-{n}").result() for n in range(RUNS)]
        assert found == [3] * RUNS
        return list(engine.life.assembly.reports)


def _refused(path: Path, error: type[Exception]) -> Exception:
    before = _content(path)
    descriptors = len(os.listdir("/proc/self/fd"))
    with pytest.raises(error) as caught:
        asyncio.run(_open(path))
    assert _content(path) == before, "a refused directory is left as it was"
    assert len(os.listdir("/proc/self/fd")) == descriptors
    return caught.value


def _overwrite(file: Path, offset: int, data: bytes) -> None:
    with file.open("r+b") as opened:
        opened.seek(offset)
        opened.write(data)


def test_an_unharmed_copy_opens(path):
    assert asyncio.run(_open(path)) == []


# ---------------------------------------------------------------- the superblock


@pytest.mark.parametrize("copy", range(sb.COPY_COUNT))
def test_one_corrupted_superblock_copy_is_repaired_and_reported(path, copy):
    _overwrite(path / sb.FILE, sb.copy_offset(copy) + 40, b"garbage")
    (report,) = asyncio.run(_open(path))
    assert report == f"superblock: copies [{copy}] were bad or older; rewritten"
    assert asyncio.run(_open(path)) == [], "repaired for good"


def test_a_lost_quorum_of_superblock_copies_is_refused(path):
    for copy in range(sb.COPY_COUNT - 1):
        _overwrite(path / sb.FILE, sb.copy_offset(copy) + 40, b"garbage")
    assert "superblock" in str(_refused(path, DirectoryRefused))


def test_a_directory_of_another_format_is_refused_by_name(path):
    (path / sb.FILE).write_bytes(_of_format(path, 7))
    error = _refused(path, DirectoryRefused)
    assert "format" in str(error)
    assert "7" in str(error)


def _of_format(path: Path, number: int) -> bytes:
    """The superblock with another format number in each copy, and right checksums."""
    data = bytearray((path / sb.FILE).read_bytes())
    for copy in range(sb.COPY_COUNT):
        start = sb.copy_offset(copy)
        block = bytes(data[start : start + 4096])
        tail = number.to_bytes(4, "little") + block[32:]
        data[start : start + 4096] = block[:8] + hash128(tail) + block[24:28] + tail
    return bytes(data)


def test_a_deleted_superblock_is_not_formatted_over(path):
    (path / sb.FILE).unlink()
    assert "no superblock" in str(_refused(path, DirectoryRefused))


# ---------------------------------------------------------------- segments


def _delete(path: Path, index: int) -> None:
    _segments(path)[index].unlink()


def _truncate(path: Path, index: int) -> None:
    file = _segments(path)[index]
    os.truncate(file, DATA_START + 8192)


def _empty(path: Path, index: int) -> None:
    os.truncate(_segments(path)[index], 0)


@pytest.mark.parametrize("harm", [_delete, _truncate, _empty])
@pytest.mark.parametrize("index", [0, 1, 2])
def test_a_segment_that_lost_acknowledged_data_is_named_with_its_place(
    path: Path, harm: Callable[[Path, int], None], index: int
) -> None:
    name = _segments(path)[index].name
    harm(path, index)
    error = _refused(path, AcknowledgedDataLost)
    assert isinstance(error, AcknowledgedDataLost)
    assert error.positions[0].startswith(f"{name}, byte "), error.positions
    assert "backup" in str(error)


@pytest.mark.parametrize("left", [DATA_START, DATA_START + 4096, 60 * 1024, 64 * 1024 - 1])
@pytest.mark.parametrize("which", [0, -1])
def test_a_segment_cut_short_is_refused_though_no_witness_is_left(path, which, left):
    segment = _segments(path)[which]
    os.truncate(segment, left)

    error = _refused(path, AcknowledgedDataLost)

    assert f"{segment.name}: the file was cut short" in str(error)


def test_swapped_segments_are_refused(path):
    first, second = _segments(path)[1:3]
    first.rename(path / "elsewhere")
    second.rename(first)
    (path / "elsewhere").rename(second)
    assert first.name in str(_refused(path, DirectoryRefused))


def test_a_segment_of_another_directory_is_refused(path, tmp_path_factory):
    other = tmp_path_factory.mktemp("other") / "log"

    async def main() -> None:
        async with Engine(functools.partial(_assemble, other), Registry([count_up])) as engine:
            for number in range(RUNS):
                await engine.run(count_up, f"run-{number}", 3)

    asyncio.run(main())
    shutil.copy(_segments(other)[1], _segments(path)[1])
    error = _refused(path, DirectoryRefused)
    assert _segments(path)[1].name in str(error)


def test_one_damaged_batch_in_the_middle_is_named_to_the_byte(path):
    file = _segments(path)[1]
    offset = DATA_START + 4096
    _overwrite(file, offset + 200, b"damage")
    error = _refused(path, AcknowledgedDataLost)
    assert isinstance(error, AcknowledgedDataLost)
    assert error.positions[0].startswith(f"{file.name}, byte {offset}, op ")


# ---------------------------------------------------------------- no directory at all


def test_a_file_in_place_of_the_directory_is_refused(tmp_path):
    (tmp_path / "log").write_bytes(b"mine")
    with pytest.raises(DirectoryRefused, match="not a directory"):
        asyncio.run(_open(tmp_path / "log"))
    assert (tmp_path / "log").read_bytes() == b"mine"


def test_a_disk_that_fails_while_the_directory_is_opened_is_a_refusal(tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024 * 1024, limits[1]))
    try:
        with pytest.raises(DirectoryRefused, match="File too large; see to the disk, and open it"):
            asyncio.run(_open(tmp_path / "log"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_directory_with_files_of_others_is_used_beside_them(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")

    async def main() -> None:
        async with Engine.open(tmp_path, workflows=[count_up]) as engine:
            await engine.run(count_up, "one", 1)

    asyncio.run(main())
    assert (tmp_path / "notes.txt").read_text() == "mine"
