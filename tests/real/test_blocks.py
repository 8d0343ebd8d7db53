"""Crashes between any two block writes of a disk: the sample CI runs.

Every cut: `python -m tests.real.blocks --all`.
"""

from __future__ import annotations

from random import Random

import pytest

from fusee.io.methods import Method
from tests.real import blocks
from tests.real.blocks import Trace, copy_sparse, record, replay, subset
from tests.real.capabilities import needs
from tests.real.fuse.recorder import Entry
from tests.real.syscalls import spread

pytestmark = [pytest.mark.real, pytest.mark.slow, needs(*blocks.NEEDS)]


@pytest.mark.parametrize("method", [Method.DIRECT, Method.BUFFERED])
def test_a_crash_between_any_two_block_writes_breaks_no_promise(tmp_path, method):
    trace = record(tmp_path, writes=120, method=method)

    report = replay(trace, tmp_path, [0, *spread(len(trace.entries), 6)])

    print(trace.write_count, report)
    assert not report.broken, str(report)
    assert _share_of_frames_with_one_flush(trace) > 0.5, "others come between only now and then"
    assert trace.write_count > 60
    assert report.acks_max > 20, "the load was too small to be a test"


def _share_of_frames_with_one_flush(trace: Trace) -> float:
    """A frame overwrites blocks that have data: one write and one flush, no file system journal."""
    entries = trace.entries
    frames = [n for n, entry in enumerate(entries[:-1]) if (entry.data or b"")[:4] == b"FsFr"]
    assert len(frames) > 20
    return sum(entries[n + 1].data is None for n in frames) / len(frames)


def test_an_engine_that_flushes_nothing_is_convicted(tmp_path):
    trace = record(tmp_path, writes=60, device="forgetful")

    report = replay(trace, tmp_path, [len(trace.entries)])

    assert report.broken, "it acknowledged what no flush had covered, and nobody saw it"


def test_a_torn_choice_keeps_whole_sectors_and_a_random_one_whole_writes():
    later = [Entry(4096 * n, bytes([n]) * 4096) for n in range(1, 40)]

    assert list(subset(later, "prefix", Random(1))) == later
    chosen = list(subset(later, "random", Random(1)))
    assert 0 < len(chosen) < len(later)
    assert all(entry in later for entry in chosen)
    torn = [e for e in subset(later, "torn", Random(1)) if e.data is not None and e not in later]
    assert {len(entry.data or b"") for entry in torn} == {512}
    assert all(entry.offset % 512 == 0 for entry in torn)


def test_a_sparse_copy_is_the_same_file(tmp_path):
    with (tmp_path / "a").open("wb") as file:
        file.truncate(1 << 20)
        file.seek(300_000)
        file.write(b"x" * 70_000)
    (tmp_path / "b").write_bytes(b"left from before" * 100_000)

    copy_sparse(tmp_path / "a", tmp_path / "b")

    assert (tmp_path / "b").read_bytes() == (tmp_path / "a").read_bytes()
