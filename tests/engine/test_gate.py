"""The gate: nothing leaves before its ticket commits, everything leaves in order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusee.base.ids import Ticket
from fusee.engine.gate import Gate


@given(st.lists(st.one_of(st.integers(1, 20), st.tuples(st.just("commit"), st.integers(0, 5)))))
def test_actions_leave_in_order_and_never_before_their_ticket(events: list) -> None:
    gate = Gate()
    left: list[tuple[int, int]] = []
    asked: list[int] = []
    for event in events:
        if isinstance(event, tuple):
            gate.open(Ticket(gate.committed + event[1]))
        else:
            number = len(asked)
            asked.append(event)
            gate.when(Ticket(event), lambda n: left.append((n, gate.committed)), number)
        assert all(committed >= asked[number] for number, committed in left)
    gate.open(Ticket(100))
    assert [number for number, _ in left] == list(range(len(asked)))
    assert len(gate) == 0


def test_an_action_may_ask_for_another_while_the_gate_opens() -> None:
    gate, left = Gate(), []

    def first(_: object) -> None:
        left.append("first")
        gate.when(Ticket(1), left.append, "asked within, committed already")
        gate.when(Ticket(2), left.append, "asked within, not committed")

    gate.when(Ticket(1), first, None)
    gate.when(Ticket(1), left.append, "second")
    gate.open(Ticket(1))
    assert left == ["first", "second", "asked within, committed already"]
    gate.open(Ticket(2))
    assert left[-1] == "asked within, not committed"


def test_nothing_ever_leaves_a_gate_that_was_shut() -> None:
    gate, left = Gate(), []
    gate.when(Ticket(2), left.append, "waiting")
    gate.shut_for_good()
    gate.when(Ticket(0), left.append, "durable long ago")
    gate.open(Ticket(5))
    assert left == []


def test_commits_never_go_back() -> None:
    gate = Gate()
    gate.open(Ticket(3))
    with pytest.raises(AssertionError):
        gate.open(Ticket(2))
