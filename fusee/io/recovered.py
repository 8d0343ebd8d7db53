"""What opening a log found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from fusee.io.file_log import FileLog
    from fusee.log.ending import LogEnd
    from fusee.log.superblock import Superblock


class Recovered(msgspec.Struct, frozen=True):
    """A log that is open, and what opening it found."""

    log: FileLog
    superblock: Superblock
    end: LogEnd
    ts_us: int
    """Group time never goes below this."""
    repaired_copies: tuple[int, ...]
    is_new: bool

    @property
    def reports(self) -> tuple[str, ...]:
        """Lines that an operator must see; empty after an ordinary open."""
        lines: list[str] = []
        if self.end.report:
            lines.append(self.end.report)
        if self.repaired_copies:
            lines.append(
                f"superblock: copies {list(self.repaired_copies)} were bad or older; rewritten"
            )
        return tuple(lines)
