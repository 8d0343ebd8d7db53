"""Nothing of a run that has ended stays behind: every armed timer belongs to an open run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.engine.run import Run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fusee.engine.core import Core


def leftover_timers(core: Core) -> Iterator[str]:
    """Yield a sentence for each armed timer that no open run knows of."""
    for key in sorted(core.timers.live):
        run = core.table.find(key.workflow_id, key.ordinal)
        if isinstance(run, Run) and run.is_open and run.timers.get(key.position) == key:
            continue
        yield f"a timer of {key.workflow_id}/{key.ordinal}/{key.position} is armed for nobody"
