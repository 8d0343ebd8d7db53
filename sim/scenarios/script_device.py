"""The disk of a scenario: it knows what is written to it, and does what the script says then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.log.batch import sections
from fusee.record.group import decode_records, decode_section
from sim.scenarios.script import Moment, Written
from tests.support.crash_device import CrashDevice, Death, Failure
from tests.support.facts import batch_of

if TYPE_CHECKING:
    from collections.abc import Iterable


class ScriptDevice(CrashDevice):
    """One process's disk under a script."""

    def __init__(self, *, flush_ns: int = 100_000) -> None:
        super().__init__(flush_ns=flush_ns)
        self.moments: list[Moment] = []
        self.views: list[int] = []
        """Views of the batches that were written, in order."""
        self.batches: list[tuple[str, int]] = []
        """Where they were written."""
        self._forgets = False

    def next_life(self) -> ScriptDevice:
        """Return the disk as the next process finds it."""
        other = ScriptDevice(flush_ns=self.flush_ns)
        other.content = {name: bytearray(data) for name, data in self.content.items()}
        other.free = self.free
        return other

    def write(self, file: str, offset: int, data: bytes | memoryview) -> None:
        """Write, unless the script has something else in mind."""
        batch = batch_of(file, offset, bytes(data))
        records: list[Written] = []
        if batch is not None:
            self.views.append(batch.view)
            self.batches.append((file, offset))
            for _, section in sections(batch):
                for group in decode_section(section):
                    run = f"{group.workflow_id}/{group.ordinal}"
                    records += [
                        Written(run, type(record).__name__, getattr(record, "position", 0))
                        for record in decode_records(bytes(group.records))
                    ]
        if self._forgets:
            self.lies.add(self.call_count + 1)
        self._look(file, records, is_whole=False)
        super().write(file, offset, data)

    def create(self, file: str, chunks: Iterable[bytes | memoryview]) -> None:
        """Make a file, unless the script has something else in mind."""
        self._look(file, [], is_whole=True)
        super().create(file, chunks)

    def rename(self, old: str, new: str) -> None:
        """Rename a file, unless the script has something else in mind."""
        self._look(new, [], is_whole=True)
        super().rename(old, new)

    def _look(self, file: str, records: list[Written], *, is_whole: bool) -> None:
        call = self.call_count + 1
        for moment in self.moments:
            if not self.is_dead and moment.comes(call, file, records, is_whole=is_whole):
                self._happen(moment, call)

    def _happen(self, moment: Moment, call: int) -> None:
        match moment.deed:
            case "crash" if moment.fate == "told":
                self.death = Death(call + 1, "lost")
            case "crash":
                self.death = Death(call, moment.fate, moment.seed)  # type: ignore[arg-type]
            case "fail":
                self.failure = Failure(call)
            case "fail-once":
                self._forgets = True
                raise OSError(5, f"injected at call {call}")
            case "lie":
                self.lies.add(call)
