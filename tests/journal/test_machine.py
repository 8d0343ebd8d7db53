"""The journal machine alone: numbers calls, compares them, and keeps a mismatch to itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusee.base.errors import NonDeterminism
from fusee.base.limits import OPERATIONS_MAX
from fusee.journal.history import DamagedJournal, History, build_history
from fusee.journal.machine import Machine
from fusee.journal.texts import Called, RunFacts
from fusee.record.kinds import (
    AnyRecord,
    AttemptFailed,
    Closed,
    Completed,
    Delivered,
    Drawn,
    OpKind,
    Outcome,
    Scheduled,
    SignalReceived,
    Started,
    Status,
)

FACTS = RunFacts("order-123", 1, "checkout", "1", "3.11.7", "0.1.0")
BEGIN = Started("checkout", "1", b"", b"r" * 16, 1_000)
PARKED = Called("is", "waiting")


def history(*records: AnyRecord) -> History:
    return build_history([[BEGIN], list(records)])


def step(position: int, name: str = "charge") -> Scheduled:
    return Scheduled(position, OpKind.STEP, name, 2_000)


def live() -> Machine:
    return Machine(FACTS, None, 1_000)


def test_positions_count_calls_from_one_and_each_call_is_a_record() -> None:
    machine = live()
    positions = [machine.schedule(OpKind.STEP, name, b"") for name in ("a", "b")]
    machine.draw(OpKind.RANDOM, b"fresh")
    assert positions == [1, 2]
    assert [(r.position, type(r)) for r in machine.out] == [  # type: ignore[union-attr]
        (1, Scheduled), (2, Scheduled), (3, Drawn),
    ]  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from([OpKind.STEP, OpKind.SLEEP]), st.sampled_from("ab"))))
def test_what_was_recorded_matches_itself_and_records_nothing(calls: list) -> None:
    first = live()
    for op, name in calls:
        first.schedule(op, name, b"")
    again = Machine(FACTS, history(*first.out), 1_000)
    for op, name in calls:
        assert again.schedule(op, name, b"other input") is not None
    assert again.mismatch is None
    assert again.out == []


def test_a_call_of_another_name_or_kind_is_a_mismatch_and_takes_no_position() -> None:
    for op, name in ((OpKind.STEP, "refund"), (OpKind.SLEEP, "charge")):
        machine = Machine(FACTS, history(step(1)), 1_000)
        assert machine.schedule(op, name, b"") is None
        assert isinstance(machine.mismatch, NonDeterminism)
        assert machine.mismatch.position == 1
        assert machine.position == 0


def test_the_first_mismatch_stands() -> None:
    machine = Machine(FACTS, history(step(1)), 1_000)
    machine.schedule(OpKind.STEP, "x", b"")
    first = machine.mismatch
    machine.schedule(OpKind.STEP, "y", b"")
    assert machine.mismatch is first


def test_drawn_values_are_the_recorded_ones_on_replay() -> None:
    machine = Machine(FACTS, history(Drawn(1, OpKind.RANDOM, 2_000, b"recorded")), 1_000)
    assert machine.draw(OpKind.RANDOM, b"fresh") == b"recorded"
    assert machine.draw(OpKind.UUID, b"fresh") == b"fresh"
    assert [type(r) for r in machine.out] == [Drawn]


def test_outcomes_come_in_delivered_order_and_carry_the_time_of_their_turn() -> None:
    machine = Machine(
        FACTS,
        history(
            step(1), step(2), step(3),
            Completed(3, Outcome.VALUE, 3_000, b"3", delivered=False),
            Completed(2, Outcome.VALUE, 4_000, b"2"),
            Delivered(3, 5_000),
        ),
        1_000,
    )  # fmt: skip
    found = []
    while (record := machine.next_delivery()) is not None:
        found.append((record.position, record.payload, machine.now_us))
    assert found == [(2, b"2", 4_000), (3, b"3", 5_000)]


def test_an_outcome_that_was_not_delivered_is_not_what_the_code_saw() -> None:
    past = history(step(1), Completed(1, Outcome.VALUE, 3_000, b"1", delivered=False))
    assert not past.deliveries
    assert list(past.undelivered) == [1]


def test_code_at_rest_where_the_recorded_code_went_on_is_a_mismatch() -> None:
    machine = Machine(FACTS, history(step(1)), 1_000)
    machine.at_rest(lambda: PARKED, None)
    assert "recorded step 'charge' here but the code is waiting" in str(machine.mismatch)


def test_code_at_rest_before_an_outcome_that_makes_it_go_on_is_no_mismatch() -> None:
    past = history(step(1), Completed(1, Outcome.VALUE, 3_000), step(2))
    machine = Machine(FACTS, past, 1_000)
    machine.schedule(OpKind.STEP, "charge", b"")
    machine.at_rest(lambda: PARKED, past.deliveries[0])
    assert machine.mismatch is None


def test_a_journal_that_is_full_takes_no_call_more() -> None:
    machine = live()
    machine.position = OPERATIONS_MAX
    assert machine.schedule(OpKind.STEP, "one too many", b"") is None
    assert "operations, the most a journal takes" in str(machine.mismatch)


@pytest.mark.parametrize(
    "records",
    [
        [step(2)],
        [step(1), step(1)],
        [Completed(1, Outcome.VALUE, 0)],
        [step(1), Delivered(1, 0)],
        [Closed(Status.COMPLETED, 0), step(1)],
        [BEGIN],
    ],
)
def test_records_that_contradict_each_other_are_named_and_never_guessed(records: list) -> None:
    with pytest.raises(DamagedJournal):
        history(*records)


def test_a_journal_without_its_begin_is_damaged() -> None:
    for turns in ([], [[]], [[step(1)]]):
        with pytest.raises(DamagedJournal):
            build_history(turns)


def test_consumed_signals_are_not_unread_and_the_last_failed_attempt_counts() -> None:
    past = history(
        Scheduled(1, OpKind.WAIT, "review", 0),
        step(2),
        SignalReceived(1, "review", "s1", b"true", 0),
        SignalReceived(2, "review", "s2", b"false", 0),
        Completed(1, Outcome.SIGNAL, 0, number=1),
        AttemptFailed(2, 1, 0, b"{}", 5, 1),
        AttemptFailed(2, 2, 0, b"{}", 9, 1),
    )
    assert [s.number for s in past.unread()] == [2]
    assert past.attempts[2].attempt == 2
