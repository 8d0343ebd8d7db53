"""`fusee disk-check`: what a disk costs a workflow."""

from __future__ import annotations

from pathlib import Path

import click

from fusee.cli.exits import CommandFailed, ExitCode
from fusee.cli.options import output_option
from fusee.cli.output import JSON, TSV, print_json, print_tsv
from fusee.io.disk_check import check_disk, render


@click.command("disk-check")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--writes",
    type=click.IntRange(min=10, max=1_000_000),
    default=1000,
    show_default=True,
    help="How many writes to measure of each kind.",
)
@output_option
def disk_check(directory: Path, writes: int, output: str) -> None:
    """Measure what one durable write costs in DIR, and what an engine there will use.

    Leaves nothing behind. Whether a disk keeps what it reported as flushed cannot be found
    out by software.
    """
    if not directory.exists():
        raise CommandFailed(
            ExitCode.NOT_FOUND,
            f"{directory} does not exist; make it first (mkdir -p {directory}) or name one on the"
            " disk you want to check",
        )
    report = check_disk(directory, writes=writes)
    if output == JSON:
        print_json(report)
    elif output == TSV:
        print_tsv(
            ("METHOD", "P50_NS", "P99_NS", "CHOSEN", "ERROR"),
            [
                (
                    timing.method.label,
                    str(timing.p50_ns),
                    str(timing.p99_ns),
                    "yes" if timing.method is report.chosen else "no",
                    timing.error or "",
                )
                for timing in report.timings
            ],
        )
    else:
        click.echo(render(report), nl=False)
