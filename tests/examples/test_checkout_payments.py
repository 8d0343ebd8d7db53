"""The demo's witness is trustworthy: it notes what it did before it says so, once a key."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from examples.checkout.payments import FAIL_BEFORE, CallLog, Service
from examples.checkout.proofs import read_calls

if TYPE_CHECKING:
    from pathlib import Path

ORDER = json.dumps({"order": "order-1", "amount": "9.90"})
OTHER = json.dumps({"order": "order-1", "amount": "9.91"})
GOOD_LUCK = 0.99


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "payments.jsonl"


def ask(log: Path, *calls: tuple[str, str, str], luck: float = GOOD_LUCK) -> list[tuple[int, dict]]:
    async def all_calls() -> list[tuple[int, dict[str, str]]]:
        with log.open("ab") as file:
            service = Service(CallLog(file), lambda: luck)
            return list(await asyncio.gather(*(service.answer(*call) for call in calls)))

    return asyncio.run(all_calls())


def test_a_repeated_call_gets_the_first_answer_and_moves_no_money(log: Path) -> None:
    first, second = ask(log, ("charge", "k", ORDER), ("charge", "k", ORDER))

    assert first == second
    assert [call.took_effect for call in read_calls(log.read_text().splitlines())] == [True, False]


def test_two_keys_get_two_answers(log: Path) -> None:
    first, second = ask(log, ("charge", "k", ORDER), ("charge", "l", ORDER))

    assert first[1]["id"] != second[1]["id"]


@pytest.mark.parametrize("second", [("charge", "k", OTHER), ("refund", "k", ORDER)])
def test_a_known_key_with_another_input_is_refused_and_noted(
    log: Path, second: tuple[str, str, str]
) -> None:
    answers = ask(log, ("charge", "k", ORDER), second)

    assert [status for status, _ in answers] == [200, 409]
    assert len({call.input for call in read_calls(log.read_text().splitlines())}) == 2


def test_a_call_that_failed_before_it_did_anything_is_noted_too(log: Path) -> None:
    assert ask(log, ("charge", "k", ORDER), luck=0.0)[0][0] == 503
    (call,) = read_calls(log.read_text().splitlines())
    assert not call.took_effect


def test_a_call_whose_answer_got_lost_took_effect_once(log: Path) -> None:
    answers = ask(log, ("charge", "k", ORDER), ("charge", "k", ORDER), luck=FAIL_BEFORE)

    assert [status for status, _ in answers] == [503, 503]
    assert sum(call.took_effect for call in read_calls(log.read_text().splitlines())) == 1


def test_a_call_without_a_key_is_refused(log: Path) -> None:
    assert ask(log, ("charge", "", ORDER))[0][0] == 400
