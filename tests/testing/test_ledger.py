"""The ledger: what was durable or told once is looked for on every later disk."""

from __future__ import annotations

import pytest

from fusee.record.failure import encode_failure
from fusee.record.kinds import (
    AttemptFailed,
    Closed,
    Completed,
    OpKind,
    Outcome,
    Scheduled,
    SignalReceived,
    Started,
    Status,
)
from fusee.testing.checkers.facts import Facts
from fusee.testing.checkers.ledger import Ledger

STORY = (
    Started("perform", "1", b"", b"r-1", 0),
    Scheduled(1, OpKind.STEP, "charge", 0),
    AttemptFailed(1, 1, 0, b"", 0, 0),
    Completed(1, Outcome.VALUE, 0, b'"ch_1"'),
    SignalReceived(1, "review", "s-1", b"true", 0),
    Closed(Status.COMPLETED, 0, b'"ch_1"'),
)


def facts_of(*records: object) -> Facts:
    facts = Facts()
    for record in records:
        facts.learn("anna/1", record)
    return facts


def ledger_of(*records: object) -> Ledger:
    ledger = Ledger()
    ledger.facts = facts_of(*records)
    return ledger


def test_a_disk_that_has_kept_everything_is_in_order() -> None:
    ledger = ledger_of(*STORY)
    ledger.check(facts_of(*STORY))

    assert not ledger.violations


@pytest.mark.parametrize("missing", range(len(STORY)))
def test_a_durable_record_that_nobody_was_told_of_must_not_go(missing: int) -> None:
    ledger = ledger_of(*STORY)
    ledger.check(facts_of(*STORY[:missing], *STORY[missing + 1 :]))

    assert len(ledger.violations) == 1
    assert "durable" in ledger.violations[0]
    assert "is lost" in ledger.violations[0]


def test_a_refusal_rests_on_an_end_that_every_later_disk_has() -> None:
    ledger = ledger_of(*STORY)
    ledger.on_refusal("anna/1", "AlreadyFinished")
    ledger.check(facts_of(*STORY[:-1]))

    assert ledger.violations == ["life 0: durable end of anna/1 is lost"]


class Doomed(Exception):
    """How a run ends badly."""


@pytest.mark.parametrize(
    ("end", "told", "is_right"),
    [
        (Closed(Status.FAILED, 0, encode_failure(Doomed("no tea"))), "Doomed: no tea", True),
        (Closed(Status.FAILED, 0, encode_failure(Doomed("no tea"))), "Doomed: no milk", False),
        (Closed(Status.FAILED, 0, encode_failure(Doomed("no tea"))), "KeyError: no tea", False),
        (Closed(Status.FAILED, 0, encode_failure(Doomed("no tea"))), ["ch_1"], False),
        (Closed(Status.TERMINATED, 0), "WorkflowTerminated: by hand", True),
        (Closed(Status.TERMINATED, 0), None, False),
        (Closed(Status.COMPLETED, 0, b'"ch_1"'), "ch_1", True),
        (Closed(Status.COMPLETED, 0, b'"ch_1"'), "ch_2", False),
    ],
)
def test_what_is_told_of_an_end_is_what_is_durable(
    end: Closed, told: object, is_right: bool
) -> None:
    ledger = ledger_of(end)
    ledger.on_result("anna/1", told)

    assert (not ledger.violations) == is_right
