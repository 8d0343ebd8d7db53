"""One run as people read it: what it is, what it waits for, what its code has called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fusee.cli.output import duration, print_table, timestamp, visible

if TYPE_CHECKING:
    from datetime import date

    from fusee.engine.views import JournalEntry, RunInfo

JOURNAL_HEADER = ("POS", "KIND", "NAME", "INPUT", "OUTCOME", "AT", "TOOK", "ATTEMPTS")
PENDING_HEADER = ("POS", "KIND", "NAME", "ATTEMPT", "NEXT", "LAST ERROR")
_INDENT = " "


def print_run(info: RunInfo, journal: list[JournalEntry] | None) -> None:
    """Print a run, with its operations when a journal is given."""
    _print_head(info)
    if journal is not None:
        day = info.started_at.date()
        print_table(JOURNAL_HEADER, [_entry_cells(e, day) for e in journal], _INDENT)
    elif info.pending:
        click.echo("waits for:")
        rows = [
            (
                str(p.position),
                p.kind,
                p.name,
                str(p.attempt),
                timestamp(p.next_at),
                p.last_error or "",
            )
            for p in info.pending
        ]
        print_table(PENDING_HEADER, rows, _INDENT)
    unread = ", ".join(f"{visible(n)} ×{count}" for n, count in info.unread_signals.items())
    key = f"{visible(info.id)}/{info.ordinal}/<pos>"
    code = f"      code: {visible(info.code)}" if info.code else ""
    click.echo(f"unread signals: {unread or 'none'}      keys: {key}{code}")


def journal_cells(entry: JournalEntry) -> tuple[str, ...]:
    """Return an operation for machines: times in ISO form, durations in microseconds."""
    return (
        str(entry.position),
        entry.kind,
        entry.name,
        entry.input,
        entry.outcome or "",
        entry.at.isoformat(),
        "" if entry.took_us is None else str(entry.took_us),
        str(entry.attempts),
    )


def _print_head(info: RunInfo) -> None:
    name = f"{visible(info.id)}/{info.ordinal}  {info.workflow}@{info.version}  {info.status}"
    if info.held is None:
        click.echo(name)
    else:
        first, *rest = (info.held_text or info.held).splitlines()
        click.echo(f"{name}, held ({info.held}): {visible(first)}")
        for line in rest:
            click.echo(visible(line))
    closed = f"   closed {timestamp(info.closed_at)}" if info.closed_at else ""
    click.echo(f"started {timestamp(info.started_at)}{closed}")
    if info.error is not None:
        click.echo(f"error: {visible(info.error)}")
    if info.waits_for_nothing is not None:
        click.echo(f"nothing can wake it: {visible(info.waits_for_nothing)}")


def _entry_cells(entry: JournalEntry, day: date) -> tuple[str, ...]:
    at = entry.at.strftime("%H:%M:%S" if entry.at.date() == day else "%Y-%m-%d %H:%M:%S")
    errors = "; ".join(f"{number}: {text}" for number, text in enumerate(entry.errors, start=1))
    return (
        str(entry.position),
        entry.kind,
        entry.name,
        entry.input,
        _outcome(entry),
        at,
        duration(entry.took_us),
        f"{entry.attempts}  ({errors})" if errors else str(entry.attempts),
    )


def _outcome(entry: JournalEntry) -> str:
    if entry.outcome is None:
        return ""
    if entry.kind == "sleep" and entry.status == "value":
        return "woke"
    if entry.status == "failure":
        return f"raised {entry.outcome}"
    return entry.outcome
