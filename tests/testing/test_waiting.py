"""The checker of wake-ups: a wait with a timeout needs its signal's list and its timer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fusee.record.kinds import OpKind
from fusee.testing.checkers.waiting import forgotten


def core_of(*, is_listed: bool, is_armed: bool, due_us: int) -> Any:
    """Return as much of an engine as the checker looks at: one run with one wait."""
    op = SimpleNamespace(kind=OpKind.WAIT, name="go", position=1, due_us=due_us)
    run = SimpleNamespace(
        key="a/1",
        held=None,
        inbox=[],
        in_flight={},
        timers={1: "key"} if is_armed else {},
        signals=SimpleNamespace(unread={}, waiting={"go": [op]} if is_listed else {}),
        program=SimpleNamespace(pending={1: op}),
    )
    return SimpleNamespace(draining=False, table=SimpleNamespace(open_runs=lambda: [run]))


@pytest.mark.parametrize(
    ("is_listed", "is_armed", "due_us", "is_forgotten"),
    [
        (True, False, 0, False),
        (True, True, 5, False),
        (False, True, 5, True),  # A signal would not find it.
        (True, False, 5, True),  # Without a signal it would never end.
        (False, False, 0, True),
    ],
)
def test_a_wait_is_woken_by_all_that_ends_it(
    is_listed: bool, is_armed: bool, due_us: int, is_forgotten: bool
) -> None:
    core = core_of(is_listed=is_listed, is_armed=is_armed, due_us=due_us)

    assert [*forgotten(core)] == ["a/1/1 (wait 'go') is forgotten"] * is_forgotten
