"""`fusee cluster`: what concerns the replicas of a group."""

from __future__ import annotations

import re
from pathlib import Path

import click

from fusee.base.limits import MEMBERS_MAX
from fusee.cli.exits import CommandFailed, ExitCode
from fusee.cli.options import output_option
from fusee.cli.output import JSON, TSV, print_json, print_tsv
from fusee.io.dev_certificates import Authority, BadAuthority
from fusee.wire.hello import certificate_name

_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
"""One part of a DNS name, which is what certificates carry."""


@click.group("cluster")
def cluster() -> None:
    """Replicas of a group: their certificates."""


@cluster.command("certs")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("replicas", metavar="REPLICA...", nargs=-1, required=True)
@click.option("--cluster", "name", required=True, metavar="NAME", help="The cluster's name.")
@click.option(
    "--days",
    type=click.IntRange(min=1, max=3650),
    default=365,
    show_default=True,
    help="How long they are good for.",
)
@output_option
def certs(directory: Path, replicas: tuple[str, ...], name: str, days: int, output: str) -> None:
    """Make certificates for replicas in DIR, and an authority if there is none yet.

    For development: the authority's key lies beside them, unencrypted. Files that are there
    are never replaced.
    """
    _check_names(name, replicas)
    there = [path for path in _files(directory, replicas) if path.exists()]
    if there:
        raise CommandFailed(
            ExitCode.REFUSED,
            f"{there[0]} is there already; a key in use is not replaced. Remove it to make"
            " another, or name another directory",
        )
    try:
        authority = Authority.at(directory, name, days=days)
        issued = [(replica, authority.issue(directory, replica)) for replica in replicas]
    except BadAuthority as error:
        raise CommandFailed(ExitCode.REFUSED, str(error)) from None
    except ModuleNotFoundError as error:
        raise CommandFailed(ExitCode.UNAVAILABLE, str(error)) from None
    rows = [
        (replica, certificate_name(name, replica), str(files.certificate), str(files.key))
        for replica, files in issued
    ]
    if output == JSON:
        document = {
            "authority": str(directory / "ca.pem"),
            "replicas": [
                {"replica": row[0], "name": row[1], "certificate": row[2], "key": row[3]}
                for row in rows
            ],
        }
        print_json(document)
    elif output == TSV:
        print_tsv(("REPLICA", "NAME", "CERTIFICATE", "KEY"), rows)
    else:
        click.echo(f"authority {directory / 'ca.pem'}")
        for replica, full_name, certificate, key in rows:
            click.echo(f"{replica}  {full_name}  {certificate}  {key}")


def _files(directory: Path, replicas: tuple[str, ...]) -> list[Path]:
    return [directory / f"{replica}{suffix}" for replica in replicas for suffix in (".pem", ".key")]


def _check_names(name: str, replicas: tuple[str, ...]) -> None:
    for one in (name, *replicas):
        if not _LABEL.fullmatch(one):
            raise click.BadParameter(
                f"{one!r}: names are of lower case letters, digits and inner hyphens, at most 63"
            )
    if "ca" in replicas:
        raise click.BadParameter("'ca' is the authority's own file name")
    if len(set(replicas)) != len(replicas):
        raise click.BadParameter("a replica is named twice")
    if len(replicas) > MEMBERS_MAX:
        raise click.BadParameter(f"a group has at most {MEMBERS_MAX} members")
