"""`fusee runs`: the runs of one directory, asked from its owner or read from its files."""

from __future__ import annotations

import sys
import uuid
from pathlib import Path
from typing import Any

import click
import msgspec

from fusee.admin.messages import (
    Answered,
    AskQuery,
    AskRun,
    AskRuns,
    Runs,
    SendSignal,
    Shown,
    Signalled,
)
from fusee.base.limits import PAYLOAD_BYTES_MAX
from fusee.cli.exits import CommandFailed, ExitCode, failure_of
from fusee.cli.files import list_files, show_files, signal_files
from fusee.cli.options import (
    NAME,
    SIGNAL_ID,
    dir_option,
    output_option,
    run_argument,
    run_option,
    timeout_option,
)
from fusee.cli.output import JSON, TABLE, TSV, print_json, print_note, print_table, print_tsv
from fusee.cli.output import timestamp as shown_time
from fusee.cli.show import JOURNAL_HEADER, journal_cells, print_run
from fusee.cli.target import Target
from fusee.engine.listing import STATUSES_ASKED, Wanted
from fusee.engine.views import RunRow
from fusee.record.payload import codec_for

LIST_HEADER = ("ID", "RUN", "WORKFLOW", "STATUS", "HELD", "STARTED", "CLOSED")


@click.group()
def runs() -> None:
    """Look at runs, and send them messages."""


@runs.command("list")
@click.option("--status", type=click.Choice(STATUSES_ASKED), help="Only runs of this status.")
@click.option("--workflow", metavar="NAME[@VERSION]", help="Only runs of this workflow.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the newest N.")
@dir_option
@timeout_option
@output_option
def list_(
    status: str | None,
    workflow: str | None,
    limit: int | None,
    directory: Path,
    timeout_s: float,
    output: str,
) -> None:
    """List runs, newest start first. `--status held` are running ones that cannot move."""
    wanted = Wanted(status, workflow, limit)
    found = Target(directory, timeout_s).ask(
        AskRuns(wanted), Runs, lambda: list_files(directory, wanted)
    )
    is_live = isinstance(found, Runs)
    rows = found.rows if isinstance(found, Runs) else found.answer.rows
    if output == JSON:
        print_json({"source": "owner" if is_live else "files", "runs": rows})
    else:
        cells = [_row_cells(row, output, is_live) for row in rows]
        (print_tsv if output == TSV else print_table)(LIST_HEADER, cells)
    if not isinstance(found, Runs):
        _print_notes(directory, found.reports)


@runs.command("show")
@run_argument
@run_option
@click.option("--journal", "with_journal", is_flag=True, help="All operations of the run.")
@dir_option
@timeout_option
@output_option
def show(
    workflow_id: str,
    ordinal: int | None,
    with_journal: bool,
    directory: Path,
    timeout_s: float,
    output: str,
) -> None:
    """Show one run: its status, what it waits for, and with --journal all it did."""
    found = Target(directory, timeout_s).ask(
        AskRun(workflow_id, ordinal), Shown, lambda: show_files(directory, workflow_id, ordinal)
    )
    shown = found if isinstance(found, Shown) else found.answer
    info, journal = shown.info, shown.journal
    if output == JSON:
        document: dict[str, Any] = {
            "source": "owner" if isinstance(found, Shown) else "files",
            "run": info,
        }
        print_json({**document, "journal": journal} if with_journal else document)
    elif output == TSV and with_journal:
        print_tsv(JOURNAL_HEADER, [journal_cells(entry) for entry in journal])
    elif output == TSV:
        fields = msgspec.to_builtins(info)
        print_tsv(("FIELD", "VALUE"), [(name, _field(value)) for name, value in fields.items()])
    else:
        print_run(info, journal if with_journal else None)
    if not isinstance(found, Shown):
        _print_notes(directory, found.reports)


@runs.command("signal")
@run_argument
@click.argument("name", type=NAME)
@click.argument("value", metavar="[JSON]", required=False)
@click.option(
    "--id",
    "signal_id",
    type=SIGNAL_ID,
    metavar="SIGNAL_ID",
    help="Makes a repeated signal the same signal. [default: a new one]",
)
@run_option
@dir_option
@timeout_option
@output_option
def signal(
    workflow_id: str,
    name: str,
    value: str | None,
    signal_id: str | None,
    ordinal: int | None,
    directory: Path,
    timeout_s: float,
    output: str,
) -> None:
    """Send signal NAME to a run, with a JSON value (- reads it from stdin).

    Returns once the signal is durable, also when no process has the directory open: the run
    sees it when one does.
    """
    unique = signal_id or uuid.uuid4().hex
    request = SendSignal(workflow_id, name, _payload(value), unique, ordinal)
    answer = _send(Target(directory, timeout_s), request)
    if output == JSON:
        print_json({"signalled": True, "id": unique, "value_differs": answer.value_differs})
    elif output == TSV:
        print_tsv(("SIGNALLED", "ID"), [("durable", unique)])
    else:
        click.echo("signalled (durable)")
    if answer.value_differs:
        print_note(f"signal {unique} was known with another value, and that one stands")


@runs.command("query")
@run_argument
@click.argument("name", type=NAME)
@click.argument("value", metavar="[JSON]", required=False)
@run_option
@dir_option
@timeout_option
@output_option
def query(
    workflow_id: str,
    name: str,
    value: str | None,
    ordinal: int | None,
    directory: Path,
    timeout_s: float,
    output: str,
) -> None:
    """Ask query NAME of a run, with a JSON input (- reads it from stdin); print its answer."""

    def nobody() -> Answered:
        raise CommandFailed(
            ExitCode.UNAVAILABLE,
            f"no process has {directory} open, and a query is answered by the workflow's code:"
            f" start your application, or `fusee dev MODULE:ATTR --dir {directory}`",
        )

    request = AskQuery(workflow_id, name, _payload(value), ordinal)
    answer = Target(directory, timeout_s).ask(request, Answered, nobody)
    payload = answer.payload or b"null"
    if output == TSV:
        click.echo(payload)
    else:
        click.echo(msgspec.json.format(payload, indent=2))


def _send(target: Target, request: SendSignal) -> Signalled:
    try:
        return target.ask(
            request, Signalled, lambda: signal_files(target.directory, request), changes=True
        )
    except Exception as error:
        failure = error if isinstance(error, CommandFailed) else failure_of(error, changes=True)
        if failure is None:
            raise
        if failure.exit_code == ExitCode.UNKNOWN:
            advice = (
                f"the signal may or may not be durable. Repeat it with --id {request.signal_id}:"
                " that is one signal, however often it is sent"
            )
            failure = CommandFailed(ExitCode.UNKNOWN, f"{failure.message}; {advice}")
        raise failure from error


def _payload(value: str | None) -> bytes:
    """Return the payload of a JSON text: the same bytes as the value sent from Python."""
    if value is None:
        return b""
    text = sys.stdin.read(PAYLOAD_BYTES_MAX + 1) if value == "-" else value
    if len(text) > PAYLOAD_BYTES_MAX:
        raise click.BadParameter(
            f"it is over the limit of {PAYLOAD_BYTES_MAX} bytes; send a reference to the data",
            param_hint="JSON",
        )
    try:
        parsed = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise click.BadParameter(
            f"{text[:60]!r} is not JSON ({error}); a text is written '\"like this\"'",
            param_hint="JSON",
        ) from None
    return codec_for(Any, where="the value").encode(parsed)


def _row_cells(row: RunRow, output: str, is_live: bool) -> tuple[str, ...]:
    time = shown_time if output == TABLE else _iso
    unknown = "?" if not is_live and row.closed_at is None else "-"
    return (
        row.id,
        str(row.ordinal),
        f"{row.workflow}@{row.version}",
        str(row.status),
        row.held or unknown,
        time(row.started_at),
        time(row.closed_at) or "-",
    )


def _iso(at: Any) -> str:
    return "" if at is None else at.isoformat()


def _field(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _print_notes(directory: Path, reports: tuple[str, ...]) -> None:
    print_note(
        f"no process has {directory} open; read from its files, which do not say who is held"
    )
    for report in reports:
        print_note(report)
