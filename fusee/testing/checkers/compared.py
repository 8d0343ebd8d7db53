"""What a checker has compared: how much there was to be wrong, and what was."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Compared:
    """The answer of a checker. One that has compared nothing has shown nothing."""

    count: int = 0
    """How many things there were that could have been wrong."""
    wrong: list[str] = field(default_factory=list[str])
    """A sentence for each that is."""
