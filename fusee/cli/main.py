"""The `fusee` command: its tree, and what becomes of errors."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any

import click

import fusee
from fusee.cli.cluster import cluster
from fusee.cli.dev import dev
from fusee.cli.disk import disk_check
from fusee.cli.exits import ExitCode, failure_of
from fusee.cli.output import prepare_streams
from fusee.cli.runs import runs


class Fusee(click.Group):
    """A group whose commands end with the codes of `ExitCode`, whatever they meet."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            value = super().invoke(ctx)
            sys.stdout.flush()
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            ctx.exit(ExitCode.INTERRUPTED)
        except BrokenPipeError:
            # Python would complain about it once more when it flushes at the end.
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115
            ctx.exit(ExitCode.PIPE_CLOSED)
        except Exception as error:
            failure = failure_of(error)
            if failure is not None:
                raise failure from error
            traceback.print_exc()
            click.echo("fusee: this is a bug of Fusee; please report the lines above", err=True)
            ctx.exit(ExitCode.INTERNAL)
        return value


@click.group(cls=Fusee, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(fusee.__version__, prog_name="fusee", message="%(prog)s %(version)s")
def cli() -> None:
    """Durable workflows, at the speed of the disk.

    Commands on a directory ask the process that has it open, if there is one, and read the
    files otherwise. Exit codes: docs/cli.md.
    """


cli.add_command(dev)
cli.add_command(runs)
cli.add_command(cluster)
cli.add_command(disk_check)


def main() -> None:
    """Run the command line; the entry point of the package."""
    prepare_streams()
    cli(prog_name="fusee")
