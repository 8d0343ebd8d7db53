"""The judge sees what it is there to see: each test shows it one violation."""

from __future__ import annotations

import pytest

from fusee.record.kinds import Closed, Completed, Scheduled, SignalReceived, Started, Status
from tests.real.judge import Judge
from tests.support.facts import Facts


def call(attempt: int = 1, answer: str = "#1", **given: object) -> dict[str, object]:
    return {
        "call": "a/1/1",
        "attempt": attempt,
        "input": given,
        "answer": answer,
        "read_only": False,
    }


@pytest.mark.parametrize(
    ("lives", "complaint"),
    [
        ([[{"started": "a/1"}]], "acknowledged start of a/1 is lost"),
        ([[{"signalled": "a/1", "id": "s", "payload": "1"}]], "signal s of a/1 is lost"),
        ([[{"result": "a/1", "value": 1}]], "result of a/1, which somebody has seen, is lost"),
        ([[{"answered": "a/1", "seen": ["x"]}]], "a query answered ['x'], which is lost"),
        ([[call()]], "step a/1/1 ran and the log does not know of it"),
        ([[call(x=1)], [call(x=2)]], "a/1/1 saw {'x': 1} and then {'x': 2}"),
        ([[call(), call()]], "a/1/1 ran twice as attempt 1 in one life"),
        ([[call(2)], [call(1)]], "a/1/1: attempt 1 after 2"),
        ([[{"result": "a/1", "value": 1}], [{"result": "a/1", "value": 2}]], "was 1, now 2"),
        ([[{"stopped": "x"}, {"started": "a/1"}]], "after it had stopped"),
        ([[{"refused": "x"}, {"started": "a/1"}]], "after it had refused to open"),
        (
            [[{"answered": "a/1", "seen": ["x"]}], [{"answered": "a/1", "seen": ["y"]}]],
            "answered ['x'], then ['y']",
        ),
    ],
)  # fmt: skip
def test_what_an_empty_disk_does_not_hold_is_missed(lives, complaint):
    judge = Judge()
    for lines in lives:
        judge.hear(lines)

    judge.look(Facts())

    assert any(complaint in text for text in judge.violations), judge.violations


def facts_of(*records: object) -> Facts:
    facts = Facts()
    for record in records:
        facts.learn("a/1", record)
    return facts


STARTED = Started("order", "1", b"{}", b"r", 0)
SCHEDULED = Scheduled(1, 1, "pay", 0, b'{"x":1}')


@pytest.mark.parametrize(
    ("said", "records", "complaint"),
    [
        ({"result": "a/1", "value": 1}, [Closed(Status.COMPLETED, 0, b"2")], "was 1, is now b'2'"),
        (call(x=2), [SCHEDULED], "step a/1/1 ran with {'x': 2}"),
        (call(3, x=1), [SCHEDULED], "attempt 3 after 0 failures"),
        (
            call(x=1, answer="#1"),
            [SCHEDULED, Completed(1, 1, 0, b'"#2"')],
            "its last call brought another result than the log has",
        ),
        (
            {"signalled": "a/1", "id": "s", "payload": "1"},
            [SignalReceived(1, "go", "s", b"2", 0)],
            "signal s of a/1 is lost",
        ),
        ({"open": 1}, [SCHEDULED, SCHEDULED], "the log contradicts itself"),
    ],
)
def test_what_a_disk_says_otherwise_is_seen(said, records, complaint):
    judge = Judge()
    judge.hear([said])

    judge.look(facts_of(STARTED, *records))

    assert any(complaint in text for text in judge.violations), judge.violations


def test_at_the_end_every_run_has_ended_and_been_heard_of():
    judge = Judge()
    judge.hear([{"started": "a/1"}])

    judge.look_at_the_end(facts_of(STARTED))

    assert judge.violations == [
        "life 1: a/1 has not finished",
        "life 1: nobody has seen the result of a/1",
    ]


def test_what_is_kept_is_not_blamed():
    judge = Judge()
    judge.hear([{"started": "a/1"}, call(x=1), {"result": "a/1", "value": 2}])
    closed = Closed(Status.COMPLETED, 0, b"2")

    judge.look_at_the_end(facts_of(STARTED, SCHEDULED, Completed(1, 1, 0, b'"#1"'), closed))

    assert judge.violations == []
