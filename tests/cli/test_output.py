"""Columns, escapes, times and durations as people and scripts read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusee.cli.output import cells_of, duration, print_table, print_tsv, timestamp, visible


def test_columns_are_as_wide_as_their_widest_cell(capsys):
    print_table(("A", "B"), [("1", "x"), ("four", "y")])

    assert capsys.readouterr().out == "A     B\n1     x\nfour  y\n"


def test_wide_letters_take_two_columns(capsys):
    print_table(("A", "B"), [("茶", "x"), ("tea", "y")])

    assert capsys.readouterr().out == "A    B\n茶   x\ntea  y\n"
    assert cells_of("e\u0301") == 1


def test_a_long_cell_moves_only_its_own_line(capsys):
    print_table(("A", "B"), [("x" * 200, "1"), ("y", "2")])

    assert capsys.readouterr().out == f"A  B\n{'x' * 200}  1\ny  2\n"


@given(st.lists(st.tuples(st.text(), st.text()), max_size=5))
def test_tsv_cells_never_break_their_line(rows):
    from contextlib import redirect_stdout
    from io import StringIO

    with redirect_stdout(StringIO()) as out:
        print_tsv(("A", "B"), [(a, b.encode("utf-8", "ignore").decode()) for a, b in rows])

    lines = out.getvalue().split("\n")[:-1]
    assert len(lines) == 1 + len(rows)
    assert all(line.count("\t") == 1 for line in lines)


@given(st.text())
def test_what_is_visible_moves_no_cursor(text):
    assert visible(text).isprintable()


@pytest.mark.parametrize(
    ("took_us", "text"),
    [
        (None, ""),
        (0, "0 µs"),
        (310, "310 µs"),
        (3_100, "3.1 ms"),
        (412_000, "412 ms"),
        (3_200_000, "3.2 s"),
        (59_000_000, "59 s"),
        (63_000_000, "1m 3s"),
        (7_500_000_000, "2h 5m"),
        (90_000_000_000, "1d 1h"),
    ],
)
def test_durations_are_short(took_us, text):
    assert duration(took_us) == text


def test_times_are_utc_wherever_one_is():
    at = datetime(2026, 6, 2, 16, 22, 9, tzinfo=timezone(timedelta(hours=2)))

    assert timestamp(at) == timestamp(at.astimezone(UTC)) == "2026-06-02 14:22:09Z"
    assert timestamp(None) == ""
