"""The engine as operators see it, and the socket they ask at."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

import fusee
from fusee.admin.messages import OwnerInfo

if TYPE_CHECKING:
    from pathlib import Path

    from fusee.admin.server import AdminServer
    from fusee.embed.life import Life
    from fusee.engine.listing import Wanted
    from fusee.engine.views import JournalEntry, RunInfo, RunRow

LOGGER = logging.getLogger("fusee.admin")


class OwnerTarget:
    """Implements `admin.target.AdminTarget`: all calls go through the engine's client."""

    def __init__(self, life: Life) -> None:
        self._life = life

    def check_usable(self) -> None:
        """Raise `EngineStopped` once the engine takes no calls."""
        self._life.check_usable()

    def info(self) -> OwnerInfo:
        """Say who owns the directory and how many runs there are."""
        life = self._life
        open_runs = life.core.table.open_runs()
        return OwnerInfo(
            pid=os.getpid(),
            version=fusee.__version__,
            workflows=sorted(f"{w.name}@{w.version}" for w in life.registry),
            open_runs=len(open_runs),
            held_runs=sum(run.held is not None for run in open_runs),
        )

    async def runs(self, wanted: Wanted) -> list[RunRow]:
        """List runs, newest start first."""
        return await self._life.client.runs(wanted)

    async def show(
        self, workflow_id: str, ordinal: int | None
    ) -> tuple[RunInfo, list[JournalEntry]]:
        """Describe one run and return its operations."""
        return await self._life.client.show(workflow_id, ordinal)

    async def signal(
        self,
        workflow_id: str,
        ordinal: int | None,
        name: str,
        payload: bytes,
        signal_id: str | None,
    ) -> bool:
        """Send a signal; return whether its ID was known with another value."""
        return await self._life.client.signal(workflow_id, ordinal, name, payload, signal_id)

    async def query(
        self, workflow_id: str, ordinal: int | None, name: str, payload: bytes
    ) -> bytes:
        """Ask a run's handler; return its answer as JSON."""
        return await self._life.client.query(workflow_id, ordinal, name, payload)


def serve(life: Life, directory: Path) -> AdminServer | None:
    """Listen in the directory. What goes wrong is reported and never keeps an engine closed."""
    # Loaded here: an engine in memory has no socket and need not pay for one.
    from fusee.admin.address import SOCKET_FILE
    from fusee.admin.server import AdminServer

    server = AdminServer(directory, OwnerTarget(life))
    try:
        server.open()
    except (OSError, NotImplementedError) as error:
        server.shut()
        LOGGER.warning(
            "%s: the fusee command cannot reach this engine (%s); its workflows run all the same."
            " Use a directory with a shorter path on a file system that has sockets, move away"
            " what has that name, and open the engine again.",
            directory / SOCKET_FILE,
            error,
        )
        return None
    return server
