"""What is missing here is said, and what can be had is used."""

from __future__ import annotations

import pytest

from tests.real import capabilities
from tests.support.children import run

pytestmark = pytest.mark.real


def test_the_report_says_of_each_capability_whether_it_is_there_or_why_not():
    ran = run("tests.real.capabilities")

    assert ran.returncode == 0
    assert [line.split()[0] for line in ran.stdout.splitlines()] == list(capabilities.NAMES)
    assert all(len(line.split()) > 1 for line in ran.stdout.splitlines())


def test_what_lacks_something_skips_with_the_reason(monkeypatch):
    monkeypatch.setitem(capabilities._CHECKS, "moon", lambda: "no moon tonight")
    monkeypatch.setitem(capabilities._CHECKS, "sun", lambda: "")

    assert capabilities.needs("moon", "sun").args == (True,)
    assert capabilities.needs("moon", "sun").kwargs["reason"] == "moon: no moon tonight"
    assert capabilities.needs("sun").args == (False,)


def test_a_check_that_fails_itself_is_a_reason(monkeypatch):
    def check() -> str:
        raise OSError("out of order")

    monkeypatch.setitem(capabilities._CHECKS, "tide", check)

    assert capabilities.why_not("tide") == "tide: looking for it failed: out of order"
