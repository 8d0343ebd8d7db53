"""`Replayer`: journals of an engine's directory, replayed with the code of today."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fusee import Context, Engine, workflow
from fusee.node.offline import NoFuseeDirectory
from fusee.testing import Replayer
from tests.testing import journal_flows
from tests.testing.journal_flows import chain, unordered, waits

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("journals") / "data"

    async def write() -> None:
        async with Engine.open(folder, workflows=[chain, waits]) as engine:
            for number in range(3):
                await engine.run(chain, f"c-{number}", number)
            await engine.start(waits, "w-1")
            while not (await engine.get(waits, "w-1").describe()).pending:
                await asyncio.sleep(0.01)

    asyncio.run(write())
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_the_same_code_replays_open_and_finished_runs(journals: Path) -> None:
    before = contents(journals)

    replays = Replayer([chain, waits], hash_seeds=2).replay_dir(journals)

    replays.raise_if_different()
    assert (replays.same, replays.different, replays.without_code) == (4, {}, ())
    assert contents(journals) == before


def test_an_added_operation_is_different(journals: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOW", "added first")

    replays = Replayer([chain, waits]).replay_dir(journals)

    assert replays.same == 1
    assert sorted(replays.different) == ["c-0/1", "c-1/1", "c-2/1"]
    with pytest.raises(AssertionError, match="3 of 4 runs in .* do not fit the code") as failure:
        replays.raise_if_different()
    assert "step 'audit'" in str(failure.value)
    assert "PYTHONHASHSEED=1" in str(failure.value)


def test_code_that_goes_on_where_a_finished_run_had_ended_is_different(
    journals: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOW", "added last")

    replays = Replayer([chain]).replay_dir(journals)

    assert len(replays.different) == 3
    assert "but the code goes on" in replays.different["c-0/1"]


def test_runs_of_other_workflows_are_left_out_and_nothing_at_all_is_an_error(
    journals: Path,
) -> None:
    assert Replayer([waits]).replay_dir(journals).without_code == ("c-0/1", "c-1/1", "c-2/1")
    with pytest.raises(AssertionError, match="has no run of these workflows; 4 runs are of others"):
        Replayer([unordered]).replay_dir(journals).raise_if_different()


def test_code_that_follows_the_order_of_a_set_differs_under_some_hash_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data"
    monkeypatch.setenv("FLOW", "sorted")

    async def write() -> None:
        async with Engine.open(folder, workflows=[unordered]) as engine:
            await engine.run(unordered, "u-1")

    asyncio.run(write())
    assert Replayer([unordered], hash_seeds=3).replay_dir(folder).same == 1

    monkeypatch.setenv("FLOW", "")
    replays = Replayer([unordered], hash_seeds=5).replay_dir(folder)

    assert replays.same == 0
    assert "step '" in replays.different["u-1/1"]


def test_what_cannot_be_replayed_is_said(tmp_path: Path) -> None:
    @workflow
    async def inner(ctx: Context) -> None: ...

    with pytest.raises(ValueError, match="define it at the top of a module"):
        Replayer([inner])
    with pytest.raises(ValueError, match="hash_seeds=0"):
        Replayer([chain], hash_seeds=0)
    with pytest.raises(TypeError, match="decorated with @fusee.workflow"):
        Replayer([journal_flows.double])  # type: ignore[list-item]
    with pytest.raises(NoFuseeDirectory):
        Replayer([chain]).replay_dir(tmp_path / "none")
