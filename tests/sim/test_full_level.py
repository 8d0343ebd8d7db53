"""The full level: its marks tell what happened, not what was drawn."""

from __future__ import annotations

import pytest

from fusee.io.submit_mode import SubmitMode
from sim.levels import full


@pytest.mark.parametrize(("uses_thread", "mark"), [(True, "mode:thread"), (False, "mode:inline")])
def test_how_writes_went_is_marked_as_it_was(monkeypatch, uses_thread, mark):
    monkeypatch.setattr(SubmitMode, "uses_thread", lambda self, now_ns: uses_thread)

    for seed in range(8):  # Of disks that are fast, and of some that are slow.
        marks = full.run_seed(seed).marks
        assert [name for name in marks if name in ("mode:thread", "mode:inline")] == [mark]
