"""What commands print: plain columns, tab-separated values, or one JSON document.

Nothing is ever cut or wrapped, and there is no colour. A cell that is very long pushes the
rest of its own line to the right and leaves the other lines alone. Payloads and names come
from users, so control characters are shown and never sent to a terminal.
"""

from __future__ import annotations

import sys
import unicodedata
from datetime import UTC
from typing import TYPE_CHECKING, Any

import click
import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

TABLE, JSON, TSV = "table", "json", "tsv"
FORMATS = (TABLE, JSON, TSV)
COLUMN_WIDTH_MAX = 160
"""Up to here columns are padded to their widest cell."""


def print_json(document: Any) -> None:
    """Print one JSON document."""
    click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2))


def print_tsv(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    r"""Print a header and rows. Tabs, line breaks and backslashes in cells become \t, \n, \\."""
    for row in (header, *rows):
        click.echo("\t".join(_escaped(cell) for cell in row))


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], indent: str = "") -> None:
    """Print columns, as wide as their widest cell within reason."""
    shown = [[visible(cell) for cell in row] for row in (header, *rows)]
    widths = [
        max((width for row in shown if (width := cells_of(row[i])) <= COLUMN_WIDTH_MAX), default=0)
        for i in range(len(header))
    ]
    for row in shown:
        line = "  ".join(
            cell + " " * (width - cells_of(cell)) for cell, width in zip(row, widths, strict=True)
        )
        click.echo(indent + line.rstrip())


def print_note(text: str) -> None:
    """Print what is not part of the answer: on stderr, so that a pipe reads only the answer."""
    click.echo(f"note: {visible(text)}", err=True)


def visible(text: str) -> str:
    """Return a text that moves no cursor: control characters as they are written in Python."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == " " else _written(c) for c in text)


def cells_of(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) != 0 for c in text)


def timestamp(at: datetime | None) -> str:
    """Return a time for people; always UTC, so that two machines say the same."""
    return "" if at is None else at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def duration(took_us: int | None) -> str:
    """Return a duration for people."""
    if took_us is None:
        return ""
    for limit_us, unit_us, unit in ((1_000, 1, "µs"), (1_000_000, 1_000, "ms"), (60e6, 1e6, "s")):
        if took_us < limit_us:
            value = took_us / unit_us
            return f"{value:.1f} {unit}" if value < 10 and unit != "µs" else f"{value:.0f} {unit}"
    seconds = took_us // 1_000_000
    for size, name, smaller, small in ((86400, "d", 3600, "h"), (3600, "h", 60, "m")):
        if seconds >= size:
            return f"{seconds // size}{name} {seconds % size // smaller}{small}"
    return f"{seconds // 60}m {seconds % 60}s"


def prepare_streams() -> None:
    """Let no character of a payload stop a command on a terminal that cannot show it."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _written(character: str) -> str:
    return repr(character)[1:-1]


def _escaped(cell: str) -> str:
    text = cell.replace("\\", "\\\\")
    return "".join(c if c.isprintable() or c == " " else _written(c) for c in text)
