"""Reading a directory that nobody has open: all of it, nothing else, and no trace."""

from __future__ import annotations

import asyncio

import pytest

from fusee import Context, Engine, workflow
from fusee.base.errors import DirectoryRefused
from fusee.io.directory import Directory
from fusee.io.file_device import FileDevice
from fusee.io.log_files import NewGroup, format_directory
from fusee.io.methods import candidate_methods
from fusee.node.offline import NoFuseeDirectory, read_directory


@workflow
async def echo(ctx: Context, text: str) -> str:
    return text


def fill(directory, count):
    async def life():
        async with Engine.open(directory, workflows=[echo]) as engine:
            for number in range(count):
                await engine.run(echo, f"echo-{number}", str(number))

    asyncio.run(life())


def test_it_reads_what_the_engine_wrote(tmp_path):
    fill(tmp_path, 20)

    found = read_directory(tmp_path)

    assert [run.workflow_id for run in found.table.all()] == [f"echo-{n}" for n in range(20)]
    assert found.reports == ()


def test_it_takes_no_lock_and_changes_no_byte(tmp_path):
    fill(tmp_path, 1)
    held = Directory.acquire(tmp_path)  # Whoever wanted the lock would fail now.
    before = {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in tmp_path.iterdir()}

    read_directory(tmp_path)

    after = {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in tmp_path.iterdir()}
    held.release()
    assert after == before


def test_a_directory_that_was_formatted_and_never_used_has_no_runs(tmp_path):
    device = FileDevice(tmp_path, candidate_methods()[-1], 0)
    format_directory(device, NewGroup(group_id=bytes(16), incarnation=bytes(16)), now_us=1)
    device.close()

    assert len(read_directory(tmp_path).table) == 0


def test_what_is_not_there_and_what_is_refused_are_told_apart(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(NoFuseeDirectory, match="does not exist"):
        read_directory(tmp_path / "none")
    with pytest.raises(NoFuseeDirectory, match="is not a Fusee directory"):
        read_directory(tmp_path)
    with pytest.raises(DirectoryRefused, match="is not a directory") as refused:
        read_directory(tmp_path / "file")
    assert not isinstance(refused.value, NoFuseeDirectory)
