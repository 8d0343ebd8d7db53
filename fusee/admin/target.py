"""What the admin server needs from an engine. `embed` implements it; admin does not know it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from fusee.admin.messages import OwnerInfo
    from fusee.engine.listing import Wanted
    from fusee.engine.views import JournalEntry, RunInfo, RunRow


class AdminTarget(Protocol):
    """An engine as operators see it. Every answer waits until what it tells is durable."""

    def check_usable(self) -> None:
        """Raise `FuseeError` when no call can be made; nothing was done then."""
        ...

    def info(self) -> OwnerInfo:
        """Say who owns the directory and how many runs there are."""
        ...

    async def runs(self, wanted: Wanted) -> list[RunRow]:
        """List runs, newest start first."""
        ...

    async def show(
        self, workflow_id: str, ordinal: int | None
    ) -> tuple[RunInfo, list[JournalEntry]]:
        """Describe one run and return its operations."""
        ...

    async def signal(
        self,
        workflow_id: str,
        ordinal: int | None,
        name: str,
        payload: bytes,
        signal_id: str | None,
    ) -> bool:
        """Send a signal; return whether its ID was known with another value."""
        ...

    async def query(
        self, workflow_id: str, ordinal: int | None, name: str, payload: bytes
    ) -> bytes:
        """Ask a run's handler; return its answer as JSON."""
        ...
