"""What is missing here is said, and what can be had is used."""

from __future__ import annotations

import pytest

from tests.real import capabilities
from tests.support.children import run

pytestmark = pytest.mark.real


def test_the_report_says_of_each_capability_whether_it_is_there_or_why_not():
    ran = run("tests.real.capabilities")

    assert ran.returncode == 0
    assert [line.split()[0] for line in ran.stdout.splitlines()] == list(capabilities.CHECKS)
    assert all(len(line.split()) > 1 for line in ran.stdout.splitlines())


def test_what_lacks_something_skips_with_the_reason():
    checks = {"moon": lambda: "no moon tonight", "sun": lambda: ""}

    without_moon = capabilities.needs("moon", "sun", checks=checks)
    assert without_moon.args == (True,)
    assert without_moon.kwargs["reason"] == "moon: no moon tonight"
    assert capabilities.needs("sun", checks=checks).args == (False,)


def test_a_check_that_fails_itself_is_a_reason():
    def check() -> str:
        raise OSError("out of order")

    reason = capabilities.why_not("tide", checks={"tide": check})

    assert reason == "tide: looking for it failed: out of order"
