"""All runs this process knows: open ones as `Run`, finished ones as compact rows.

One running run per workflow ID, always. Ordinals rise by one per ID for ever, so that
leftovers of run n never touch run n+1 (rule ID-1 of docs/internals/runtime.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.base.checksum import shard_of
from fusee.base.ids import Ordinal, ShardId
from fusee.engine.run import Finished, Run
from fusee.record.group import encode_journal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fusee.record.kinds import Started, Status


class DamagedTable(Exception):
    """The log holds groups that contradict each other: a bug of an earlier build."""


class RunTable:
    """Runs by workflow ID; the latest of each, and the finished ones before it."""

    __slots__ = ("_latest", "_older", "_requests", "open_count", "shard_count")

    def __init__(self, shard_count: int) -> None:
        self.shard_count = shard_count
        self.open_count = 0
        self._latest: dict[str, Run | Finished] = {}
        self._older: dict[tuple[str, int], Run | Finished] = {}
        self._requests: dict[str, dict[bytes, Ordinal]] = {}
        """By ID, which request began which of its older runs."""

    def __len__(self) -> int:
        return len(self._latest) + len(self._older)

    def latest(self, workflow_id: str) -> Run | Finished | None:
        """Return the newest run of an ID, None when the ID was never used."""
        return self._latest.get(workflow_id)

    def find(self, workflow_id: str, ordinal: int | None = None) -> Run | Finished | None:
        """Return one run of an ID, the newest when no ordinal is given."""
        latest = self._latest.get(workflow_id)
        if latest is None or ordinal is None or latest.ordinal == ordinal:
            return latest
        return self._older.get((workflow_id, ordinal))

    def open_run(self, workflow_id: str, ordinal: int) -> Run:
        """Return the open run that a recovered group belongs to. Raises `DamagedTable`."""
        run = self._latest.get(workflow_id)
        if type(run) is not Run or run.ordinal != ordinal or run.closed_status is not None:
            raise DamagedTable(f"records of {workflow_id}/{ordinal}, which is not open")
        return run

    def of_request(self, workflow_id: str, request_id: bytes) -> Run | Finished | None:
        """Return the run of an ID that a request began, however many runs came after it."""
        latest = self._latest.get(workflow_id)
        if latest is None or latest.facts().request_id == request_id:
            return latest
        requests = self._requests.get(workflow_id)
        ordinal = None if requests is None else requests.get(request_id)
        return None if ordinal is None else self._older[workflow_id, ordinal]

    def all(self) -> Iterator[Run | Finished]:
        """Iterate over every run, in order of first use of its ID."""
        yield from self._latest.values()
        yield from self._older.values()

    def open_runs(self) -> list[Run]:
        """Return the open runs, in order of first use of their ID."""
        return [r for r in self._latest.values() if isinstance(r, Run) and r.is_open]

    def add(self, workflow_id: str, started: Started | None) -> Run:
        """Begin the next run of an ID; the one before it must have closed."""
        before = self._latest.get(workflow_id)
        ordinal = 1
        if before is not None:
            assert not (isinstance(before, Run) and before.is_open), "two open runs of one ID"
            ordinal = before.ordinal + 1
            self._older[workflow_id, before.ordinal] = before
            requests = self._requests.setdefault(workflow_id, {})
            requests[before.facts().request_id] = before.ordinal
        shard = ShardId(shard_of(workflow_id, self.shard_count))
        run = self._latest[workflow_id] = Run(workflow_id, Ordinal(ordinal), shard, started)
        self.open_count += 1
        return run

    def close(self, run: Run, status: Status) -> None:
        """Note that a run has ended; it stays a `Run` until its end is committed."""
        assert run.is_open
        run.closed_status = status
        self.open_count -= 1

    def compact(self, run: Run) -> Finished:
        """Replace a closed run by its compact row: no coroutine, loop or context survives."""
        assert run.closed_status is not None, "only a closed run is compacted"
        finished = Finished(
            run.workflow_id,
            run.ordinal,
            run.facts().workflow,
            run.closed_status,
            encode_journal(run.groups),
        )
        if self._latest.get(run.workflow_id) is run:
            self._latest[run.workflow_id] = finished
        else:
            self._older[run.workflow_id, run.ordinal] = finished
        return finished
