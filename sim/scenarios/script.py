"""The words of a scenario: a moment, and what happens then.

    play.at(record="AttemptFailed").crash("landed")
    play.at(record="Scheduled", position=3, of="anna/1").crash("told")
    play.at(makes="segment-", nth=2).crash("lost")
    play.at(call=9).fail()

A moment is named by what is being written, not by a count of calls, wherever that can be: a
count moves with every change of the product, and the scenario would watch an empty place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

Fate = Literal["lost", "landed", "torn", "told"]
"""Of the write in which the process dies: nothing of it landed; all, but nobody was told; some
units; or it ended well, and the process dies at its next one."""
Deed = Literal["crash", "fail", "fail-once", "lie"]


@dataclass(frozen=True, slots=True)
class Written:
    """One record that a write carries."""

    run: str
    kind: str
    position: int


@dataclass(slots=True)
class Moment:
    """A call of the disk by which something happens, once."""

    call: int = 0
    record: str = ""
    position: int = 0
    of: str = ""
    makes: str = ""
    nth: int = 1
    deed: Deed = "crash"
    fate: Fate = "lost"
    seed: int = 0
    seen: int = 0
    has_come: bool = False

    def crash(self, fate: Fate = "lost", seed: int = 0) -> None:
        """The process dies in this call."""
        self.deed, self.fate, self.seed = "crash", fate, seed

    def fail(self) -> None:
        """This call and all after it fail."""
        self.deed = "fail"

    def fail_once(self) -> None:
        """This call fails; later ones report success, and the disk has nothing of them.

        What a page cache does whose pages were called clean after a failed flush.
        """
        self.deed = "fail-once"

    def lie(self) -> None:
        """This call is reported as done, and has no effect."""
        self.deed = "lie"

    def comes(self, call: int, file: str, records: Iterable[Written], *, is_whole: bool) -> bool:
        """Whether it comes with this call of the disk."""
        if self.has_come:
            return False
        if self.makes:
            matches = int(is_whole and file.startswith(self.makes))
        elif self.record:
            matches = sum(self._is(record) for record in records)
        else:
            matches = int(call == self.call)
        self.seen += matches
        self.has_come = bool(matches) and (not (self.record or self.makes) or self.seen >= self.nth)
        return self.has_come

    def _is(self, record: Written) -> bool:
        return (
            record.kind == self.record
            and self.position in (0, record.position)
            and self.of in ("", record.run)
        )

    def __str__(self) -> str:
        what = self.record or self.makes or f"call {self.call}"
        return f"{self.deed} at {what} {self.of} {self.position or ''}".rstrip()
