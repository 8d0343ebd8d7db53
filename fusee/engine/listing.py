"""Lists of runs: which ones are wanted, newest start first.

A directory may hold a million runs, and the application's loop must not stand still while
they are gone through: so a list is made run by run, and who makes it decides where to pause.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fusee.engine.run import Finished, Run
from fusee.engine.views import RunRow, RunStatus, row, status_word

if TYPE_CHECKING:
    from collections.abc import Iterable

HELD = "held"
STATUSES_ASKED = (*(str(status) for status in RunStatus), HELD)
"""What `--status` takes: the statuses of runs, and running ones that cannot move."""


class Wanted(msgspec.Struct, frozen=True):
    """Which runs a list shows. None is all; `workflow` is a name, or name@version."""

    status: str | None = None
    workflow: str | None = None
    limit: int | None = None


class Listing:
    """Collects the rows of one list."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._rows: list[RunRow] = []

    def look(self, run: Run | Finished) -> None:
        """Add a run, if it is wanted. What can be told without decoding is asked first."""
        if not self._has_status(run):
            return
        wanted = self._wanted.workflow
        name = run.workflow if isinstance(run, Finished) else run.facts().workflow
        if wanted is not None and wanted != name and not wanted.startswith(f"{name}@"):
            return
        found = row(run)
        if wanted is None or wanted in (name, f"{name}@{found.version}"):
            self._rows.append(found)

    def rows(self) -> list[RunRow]:
        """Return the rows, newest start first."""
        self._rows.sort(key=lambda r: (r.started_at, r.id, r.ordinal), reverse=True)
        return self._rows[: self._wanted.limit]

    def _has_status(self, run: Run | Finished) -> bool:
        wanted = self._wanted.status
        if wanted is None:
            return True
        if wanted == HELD:
            return isinstance(run, Run) and run.is_open and run.held is not None
        status = run.closed_status
        return status_word(status) == wanted


def list_runs(runs: Iterable[Run | Finished], wanted: Wanted) -> list[RunRow]:
    """Return a list in one go."""
    listing = Listing(wanted)
    for run in runs:
        listing.look(run)
    return listing.rows()
