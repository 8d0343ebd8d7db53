"""Power cuts, errors, rot and lies of a disk, on the lossy file system.

More of the first: `python -m tests.real.powercuts --all`.
"""

from __future__ import annotations

import os

import pytest

from fusee.base.errors import AcknowledgedDataLost, DirectoryRefused
from fusee.io.methods import Method
from fusee.log.segment import DATA_START, segment_name
from tests.real import powercuts
from tests.real.capabilities import needs
from tests.real.fuse.content import UNIT, Loss
from tests.real.judge import Judge, facts_on_disk, scan_disk
from tests.real.powercuts import GROUNDS, Ground, Report, cut_in_requests, kill_under_load, lossy
from tests.real.victim import FINISHED, REFUSED, STOPPED, TINY

pytestmark = [pytest.mark.real, pytest.mark.slow, needs(*powercuts.NEEDS)]
SOME = GROUNDS[0]
FLAGGED = GROUNDS[2]
"""Here a durable write is one request."""


@pytest.mark.parametrize("ground", [*GROUNDS, Ground(True, None)], ids=str)
def test_a_power_cut_breaks_no_promise(tmp_path, ground):
    report = Report()
    with lossy(tmp_path, ground) as place:
        kill_under_load(place, 3, report, seed=GROUNDS.index(ground) if ground.method else 9)
        if ground.method is not None:
            cut_in_requests(place, (3, 21, 34), report)

    print(report)
    assert not report.broken, str(report)
    assert report.acks > 40, str(report)


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize("at", [1, 12, 20, 30, 40, 55])
def test_after_an_error_of_the_disk_nothing_is_acknowledged_and_a_new_process_recovers(
    tmp_path, at
):
    with lossy(tmp_path, SOME) as place:
        path = place.directory()
        judge = Judge()
        place.mount.order("eio_once", at=at)
        life = place.live(path, sizes=TINY)
        place.mount.order("lose", kind="drop")
        place.power_on()
        judge.hear(life.lines)
        assert life.status in (STOPPED, REFUSED, FINISHED), life.errors
        judge.look(facts_on_disk(path))
        last = place.live(path, sizes=TINY)
        judge.hear(last.lines)
        assert last.status == FINISHED, last
        judge.look_at_the_end(facts_on_disk(path))

    assert judge.violations == []


def test_a_disk_that_fills_up_stops_the_engine_and_loses_nothing(tmp_path):
    with lossy(tmp_path, SOME) as place:
        path = place.directory()
        assert place.live(path, sizes=TINY, workload="sequence", details={
            "operations": ["start", "step", "close"], "is_last": True,
        }).status == FINISHED  # fmt: skip
        place.mount.order("full", is_full=True)
        judge = Judge()
        full = place.live(path, sizes=TINY)
        judge.hear(full.lines)
        assert full.status in (STOPPED, REFUSED), (full.lines[-1:], full.errors)
        judge.look(facts_on_disk(path))
        place.mount.order("full", is_full=False)
        last = place.live(path, sizes=TINY)
        judge.hear(last.lines)
        assert last.status == FINISHED, last
        judge.look_at_the_end(facts_on_disk(path))

    assert judge.violations == []


# ---------------------------------------------------------------- rot


def test_a_bit_that_rots_or_a_block_that_cannot_be_read_is_found_wherever_it_lies(tmp_path):
    """In every unit of the log that holds a frame: refused, reported, or harmless; never silent."""
    found = {"flip": 0, "latent": 0}
    with lossy(tmp_path, SOME) as place:
        path = place.directory()
        judge = Judge()
        judge.hear(place.live(path, sizes=TINY).lines)
        judge.look_at_the_end(facts_on_disk(path))
        assert judge.violations == []
        for number in (1, 2):
            name = f"{path.name}/{segment_name(number)}"
            for unit in range(DATA_START // UNIT, TINY[0] // UNIT):
                flip = {"path": name, "offset": unit * UNIT + unit * 7 % UNIT, "bit": unit % 8}
                place.mount.order("flip", **flip)
                found["flip"] += _is_found(path, judge)
                place.mount.order("flip", **flip)
                if unit % 8 == 0:
                    place.mount.order("latent", path=name, unit=unit)
                    found["latent"] += _is_found(path, judge)
                    place.power_on()
        assert not _is_found(path, judge), "the disk is as it was"

    assert judge.violations == []
    # What rots in the padding of a frame harms nothing and is not seen.
    assert found["flip"] >= 12, found
    assert found["latent"] >= 10, found


def _is_found(path, judge: Judge) -> bool:
    """Whether damage is found; without a word nothing may be missing."""
    try:
        facts, report = scan_disk(path)
    except (AcknowledgedDataLost, DirectoryRefused):
        return True
    if not report:
        judge.look(facts)
    return bool(report)


# ---------------------------------------------------------------- lies


def test_a_lie_about_one_frame_is_found_once_a_later_frame_is_durable(tmp_path):
    with lossy(tmp_path, FLAGGED) as place:
        for at in (2, 3, 4):
            path = place.directory()
            place.mount.order("lie", at=at)
            life = place.live(path, kill_at=35, sizes=TINY)
            assert life.was_killed, life
            written = place.mount.order("counts")["segment_writes"]
            assert written > at, "there is a later frame"
            place.mount.order("lose", kind="drop")
            place.power_on()
            with pytest.raises(AcknowledgedDataLost):
                facts_on_disk(path)
            assert place.live(path, sizes=TINY).status == REFUSED


def test_a_disk_that_lies_about_everything_loses_it_and_the_judge_complains(tmp_path):
    """Outside the model: nothing is left that could witness the loss."""
    with lossy(tmp_path, FLAGGED) as place:
        path = place.directory()
        assert place.live(path, sizes=TINY, workload="sequence", details={
            "operations": ["start", "close"], "is_last": False,
        }).status == FINISHED  # fmt: skip
        place.mount.order("lie", always=True)
        judge = Judge()
        judge.hear(place.live(path, kill_at=30, sizes=TINY).lines)
        place.mount.order("lose", kind="drop")
        place.power_on()
        try:
            judge.look(facts_on_disk(path))
        except AcknowledgedDataLost:
            return  # Better than the model asks.

    assert any("acknowledged start" in text for text in judge.violations), judge.violations


# ---------------------------------------------------------------- the checkers


@pytest.mark.parametrize("ground", [SOME, FLAGGED], ids=str)
def test_an_engine_that_flushes_nothing_is_convicted(tmp_path, ground):
    report = Report()
    with lossy(tmp_path, ground) as place:
        kill_under_load(place, 3, report, sizes=TINY, device="forgetful")

    assert report.broken, "it acknowledged what it had never flushed, and nobody saw it"


def test_the_file_system_loses_what_was_not_flushed_and_only_that(tmp_path):
    with lossy(tmp_path, Ground(False, Method.BUFFERED)) as place:
        path = place.directory()
        _write(path / "kept", b"kept", is_flushed=True)
        place.flush_all(path)
        _write(path / "kept", b"lost", is_flushed=False)
        _write(path / "unnamed", b"flushed, but its name is not", is_flushed=True)
        (path / "kept").rename(path / "renamed")
        assert (path / "renamed").read_bytes() == b"lost"

        place.mount.order("lose", kind="drop")
        place.power_on()

        assert (path / "kept").read_bytes() == b"kept"
        assert not (path / "unnamed").exists()
        assert not (path / "renamed").exists()


@pytest.mark.parametrize(
    ("loss", "survives"),
    [
        (Loss("drop"), b"." * 2048),
        (Loss("torn", units=1), b"n" * 512 + b"." * 1536),
        (Loss("torn", units=3), b"n" * 1536 + b"." * 512),
    ],
    ids=lambda value: str(value)[:24],
)
def test_a_torn_write_keeps_so_many_units(tmp_path, loss, survives):
    with lossy(tmp_path, SOME) as place:
        path = place.directory()
        _write(path / "file", b"." * 2048, is_flushed=True)
        place.flush_all(path)
        _write(path / "file", b"n" * 2048, is_flushed=False)

        place.mount.order("lose", kind=loss.kind, units=loss.units)
        place.power_on()

        assert (path / "file").read_bytes() == survives


def _write(file, data: bytes, *, is_flushed: bool) -> None:
    fd = os.open(file, os.O_WRONLY | os.O_CREAT, 0o600)
    os.pwrite(fd, data, 0)
    if is_flushed:
        os.fsync(fd)
    os.close(fd)
