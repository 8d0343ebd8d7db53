"""What commands do when no process has the directory open."""

from __future__ import annotations

import asyncio
import functools
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from fusee.admin.messages import Runs, SendSignal, Shown, Signalled
from fusee.embed.assembly import assemble_directory
from fusee.embed.engine import Engine
from fusee.embed.programs import Registry
from fusee.engine.listing import Wanted, list_runs
from fusee.engine.messages import not_found
from fusee.engine.views import describe, journal
from fusee.node.offline import read_directory

A = TypeVar("A")


class FromFiles(msgspec.Struct, Generic[A], frozen=True):
    """An answer read from files, and what an operator must see of them."""

    answer: A
    reports: tuple[str, ...]


def list_files(directory: Path, wanted: Wanted) -> FromFiles[Runs]:
    """List the runs of a directory that nobody has open."""
    found = read_directory(directory)
    return FromFiles(Runs(list_runs(found.table.all(), wanted)), found.reports)


def show_files(directory: Path, workflow_id: str, ordinal: int | None) -> FromFiles[Shown]:
    """Show a run of a directory that nobody has open. Raises `RunNotFound`."""
    found = read_directory(directory)
    run = found.table.find(workflow_id, ordinal)
    if run is None:
        raise not_found(workflow_id, ordinal)
    return FromFiles(Shown(describe(run), journal(run)), found.reports)


def signal_files(directory: Path, request: SendSignal) -> Signalled:
    """Open the directory without any code, append a signal, close it."""
    # Without a socket: who asks this short-lived owner for more than it knows would be misled.
    engine = Engine(functools.partial(assemble_directory, directory), Registry(()), has_admin=False)

    async def send() -> bool:
        async with engine:
            return await engine.life.client.signal(
                request.id, request.ordinal, request.name, request.payload, request.signal_id
            )

    return Signalled(asyncio.run(send()))
