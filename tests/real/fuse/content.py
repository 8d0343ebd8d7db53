"""Files and directories that lose what was not flushed.

Each thing has two states: what a running system sees, and what is durable. Between them lies a
list of changes in their order. A flush makes them durable; a loss of power keeps some of them:

    drop     none
    torn     of the last one so many 512-byte units, of the others none
    order    a subset by seed: of writes whole, nothing, or some units
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

UNIT = 512


@dataclass(frozen=True)
class Loss:
    """What a loss of power keeps."""

    kind: str = "drop"
    units: int = 0
    seed: int = 0


@dataclass(frozen=True)
class Write:
    """Some bytes; with `data` None the file is cut or extended to `offset`."""

    offset: int
    data: bytes | None

    def apply(self, content: bytearray) -> None:
        if self.data is None:
            del content[self.offset :]
            content.extend(bytes(self.offset - len(content)))
            return
        end = self.offset + len(self.data)
        if len(content) < end:
            content.extend(bytes(end - len(content)))
        content[self.offset : end] = self.data

    def apply_units(self, content: bytearray, chosen: Iterator[bool]) -> None:
        """Apply some of its units; the file grows all the same."""
        if self.data is None:
            return
        end = self.offset + len(self.data)
        if len(content) < end:
            content.extend(bytes(end - len(content)))
        for start in range(0, len(self.data), UNIT):
            if next(chosen):
                unit = self.data[start : start + UNIT]
                content[self.offset + start : self.offset + start + len(unit)] = unit


@dataclass
class File:
    """One file, or a socket: a name without content."""

    node: int
    mode: int
    parent: int
    now: bytearray = field(default_factory=bytearray)
    durable: bytearray = field(default_factory=bytearray)
    pending: list[Write] = field(default_factory=list)

    def change(self, write: Write) -> None:
        """Change what is seen; what is durable stays."""
        write.apply(self.now)
        self.pending.append(write)

    def lie(self, write: Write) -> None:
        """Change what is seen and never anything else."""
        write.apply(self.now)

    def flush(self) -> None:
        for write in self.pending:
            write.apply(self.durable)
        self.pending.clear()

    def lose(self, loss: Loss) -> None:
        """Lose power."""
        pending, self.pending = self.pending, []
        if loss.kind == "torn" and pending:
            pending[-1].apply_units(self.durable, (n < loss.units for n in range(1 << 30)))
        elif loss.kind == "order":
            random = Random(f"{loss.seed}/{self.node}")
            for write in pending:
                fate = random.choice(("lost", "landed", "torn"))
                if fate == "landed":
                    write.apply(self.durable)
                elif fate == "torn":
                    write.apply_units(self.durable, iter(lambda: random.random() < 0.5, None))
        self.now = bytearray(self.durable)


@dataclass(frozen=True)
class NameChange:
    """A name that comes, goes (node 0), or takes another's place (`old`)."""

    name: str
    node: int
    old: str = ""

    def apply(self, entries: dict[str, int]) -> None:
        if self.old:
            # The name it came from may itself have been lost.
            if self.old in entries:
                entries[self.name] = entries.pop(self.old)
        elif self.node:
            entries[self.name] = self.node
        else:
            entries.pop(self.name, None)


@dataclass
class Directory:
    """Names, which are as volatile as data until the directory itself is flushed."""

    node: int
    mode: int = stat.S_IFDIR | 0o755
    now: dict[str, int] = field(default_factory=dict)
    durable: dict[str, int] = field(default_factory=dict)
    pending: list[NameChange] = field(default_factory=list)

    def change(self, change: NameChange) -> None:
        change.apply(self.now)
        self.pending.append(change)

    def flush(self) -> None:
        for change in self.pending:
            change.apply(self.durable)
        self.pending.clear()

    def lose(self, loss: Loss) -> None:
        """Lose power. In order mode a prefix of the changes survives, or any of them."""
        pending, self.pending = self.pending, []
        if loss.kind == "order":
            random = Random(f"{loss.seed}/{self.node}")
            count = random.randint(0, len(pending))
            is_prefix = random.random() < 0.5
            for number, change in enumerate(pending):
                if number < count if is_prefix else random.random() < 0.5:
                    change.apply(self.durable)
        self.now = dict(self.durable)
