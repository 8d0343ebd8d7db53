"""The disk of a scenario: it knows what is written to it, and does what the script says then."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from fusee.log.batch import sections
from fusee.record.group import decode_records, decode_section
from fusee.testing.checkers.facts import batch_of
from fusee.testing.device import PowerLost
from fusee.testing.process_device import ProcessDevice
from sim.scenarios.script import Moment, Written

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fusee.log.batch import Batch
    from fusee.testing.device import InFlight
    from fusee.testing.process import Process


class ScriptDevice(ProcessDevice):
    """One process's disk under a script."""

    def __init__(self, process: Process, moments: list[Moment]) -> None:
        super().__init__(process)
        self.batches: list[tuple[str, int]] = []
        """Where batches were written, in order."""
        self._moments = moments
        self._changes = 0
        self._dies_next = False
        self._forgets = False

    # ------------------------------------------------------------ calls

    def begin(self, file: str, offset: int, data: bytes | memoryview) -> InFlight:
        """Put a write in flight."""
        self._check_doom()
        return super().begin(file, offset, data)

    def complete(self, write: InFlight) -> None:
        """Let a write land, unless the script has something else in mind."""
        batch = batch_of(write.name, write.offset, write.data)
        moment = self._comes(write.name, [] if batch is None else _records(batch), is_whole=False)
        if moment is not None:
            self._happen(moment, write)
        elif self._forgets:
            self.in_flight.remove(write)  # Reported as done, and never done.
            return
        if batch is not None:
            self.batches.append((write.name, write.offset))
        super().complete(write)

    def _happen(self, moment: Moment, write: InFlight) -> None:
        match moment.deed, moment.fate:
            case "crash", "told":
                self._dies_next = True
            case "crash", "torn":
                self.crash(Random(moment.seed), garbage=0.0)
                self._die()
            case "crash", fate:
                if fate == "landed":
                    write.file.put(write.offset, write.data)
                self._die()
            case "fail", _:
                self.fail_after(0, Random(moment.seed))
            case "fail-once", _:
                self._forgets = True
                self.in_flight.remove(write)
                raise OSError(5, "injected, once")
            case _:
                self.lose_after(0)

    def create(self, file: str, chunks: Iterable[bytes | memoryview]) -> None:
        """Make a file, unless the script has something else in mind."""
        self._name(file)
        super().create(file, chunks)

    def rename(self, old: str, new: str) -> None:
        """Rename a file, unless the script has something else in mind."""
        self._name(new)
        super().rename(old, new)

    def _name(self, file: str) -> None:
        self._check_doom()
        moment = self._comes(file, [], is_whole=True)
        if moment is not None:
            assert (moment.deed, moment.fate) == ("crash", "lost"), "a name appears, or does not"
            self._die()

    # ------------------------------------------------------------ fate

    def _comes(self, file: str, records: list[Written], *, is_whole: bool) -> Moment | None:
        self._changes += 1
        for moment in self._moments:
            if moment.comes(self._changes, file, records, is_whole=is_whole):
                return moment
        return None

    def _check_doom(self) -> None:
        if self._dies_next:
            self._die()

    def _die(self) -> None:
        self.in_flight.clear()
        self._process.die()
        raise PowerLost


def _records(batch: Batch) -> list[Written]:
    return [
        Written(
            f"{group.workflow_id}/{group.ordinal}",
            type(record).__name__,
            getattr(record, "position", 0),
        )
        for _, section in sections(batch)
        for group in decode_section(section)
        for record in decode_records(bytes(group.records))
    ]
