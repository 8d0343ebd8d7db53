import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fusee.base.durations import instant, instant_us, seconds, to_us
from fusee.base.names import check_id, check_name


@pytest.mark.parametrize(
    ("value", "us"),
    [
        ("10m", 600_000_000),
        ("1d", 86_400_000_000),
        ("500ms", 500_000),
        ("1h30m", 5_400_000_000),
        ("1h 30m", 5_400_000_000),
        (" 1.5s ", 1_500_000),
        ("7us", 7),
        ("1w", 604_800_000_000),
        ("-10m", 0),
        (timedelta(seconds=1.5), 1_500_000),
        (timedelta(-1), 0),
        (3, 3_000_000),
        (0.1, 100_000),
        (-1, 0),
        (0, 0),
    ],
)
def test_durations_in_every_form(value, us):
    assert to_us(value) == us
    assert seconds(value) == us / 1_000_000


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, 1e300, 10**400, timedelta.max,
     "9999999d", "", " ", "10", "m", "1m1h",
     "1m1m", "ten minutes", "1e3s", "1,5s", "--1s", "١s", "1s" + " " * 200],
)  # fmt: skip
def test_what_is_no_duration_is_refused(value):
    with pytest.raises(ValueError, match=r"duration"):
        to_us(value)


@pytest.mark.parametrize("value", [True, None, b"1s", []])
def test_what_cannot_be_a_duration_is_a_type_error(value):
    with pytest.raises(TypeError, match="duration"):
        to_us(value)


@settings(deadline=None)
@given(st.timedeltas(timedelta(0), timedelta(days=365 * 7000)))
def test_timedeltas_are_exact(value):
    assert timedelta(microseconds=to_us(value)) == value


@settings(deadline=None)
@given(st.text(st.sampled_from("0123456789.-+smhduw e"), max_size=12))
def test_any_text_is_a_duration_or_a_value_error(text):
    try:
        assert to_us(text) >= 0
    except ValueError as error:
        assert "duration" in str(error)  # noqa: PT017


@settings(deadline=None)
@given(st.datetimes(), st.integers(-86399, 86399))
def test_instants_are_exact(moment, offset):
    aware = moment.replace(tzinfo=timezone(timedelta(seconds=offset)))
    us = instant_us(aware)
    assert aware - datetime(1970, 1, 1, tzinfo=UTC) == timedelta(microseconds=us)
    if 2 < moment.year < 9998:
        assert instant(us) == aware


def test_naive_instants_are_refused():
    with pytest.raises(ValueError, match="timezone"):
        instant_us(datetime(2020, 1, 1))
    with pytest.raises(TypeError, match="instant"):
        instant_us("2020-01-01")


@pytest.mark.parametrize("value", ["", " ", "\t\n", "a\0b", "x" * 513, "é" * 257, "\ud800"])
def test_ids_that_cannot_be_found_again_are_refused(value):
    with pytest.raises(ValueError, match="workflow ID"):
        check_id(value)


def test_ids_take_any_other_text():
    for value in ("a", "order/7", "x" * 512, "é" * 256, " a ", "注文"):
        assert check_id(value) == value
    assert check_name("n" * 256) == "n" * 256
    with pytest.raises(ValueError, match="signal name"):
        check_name("n" * 257, "signal name")
    with pytest.raises(TypeError, match="pass a str"):
        check_id(7)
