"""The disk of one process: the process dies at a call we choose, and leaves an image.

    lost      nothing of the call landed
    landed    all of it landed, but nobody was told
    torn      some of its 512-byte units landed, by seed

After that call the process is gone: whatever it still tries has no effect. `survivor` is the
disk as the next process finds it.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from threading import Lock
from typing import Literal

from tests.support.ram_device import UNIT_SIZE, PowerLost, RamDevice

Fate = Literal["lost", "landed", "torn"]


@dataclass(frozen=True)
class Death:
    """Where a process dies: within the `call`-th changing call, counted from 1."""

    call: int
    fate: Fate = "lost"
    seed: int = 0


@dataclass(frozen=True)
class Failure:
    """From the `call`-th changing call on, calls fail; of that one `landed_bytes` landed."""

    call: int
    error: int = errno.EIO
    landed_bytes: int = 0


class CrashDevice(RamDevice):
    """A RAM device with deaths, failures and lies."""

    def __init__(self, *, flush_ns: int = 100_000) -> None:
        super().__init__()
        self.death: Death | None = None
        self.failure: Failure | None = None
        self.lies: set[int] = set()
        """Calls that are acknowledged and have no effect."""
        self.is_dead = False
        self.has_failed = False
        self.place_of_call: dict[int, tuple[str, int]] = {}
        """Which file, and where in it, each call meant to change."""
        self.told: list[Callable[[str, int, bytes], None]] = []
        """Hear of every write once it is durable, in the thread that wrote."""
        self._calibrated_ns = flush_ns
        self._one_at_a_time = Lock()

    @property
    def flush_ns(self) -> int:
        return self._calibrated_ns

    def survivor(self) -> CrashDevice:
        """The disk as the next process finds it."""
        with self._one_at_a_time:
            other = CrashDevice(flush_ns=self._calibrated_ns)
            other.content = {name: bytearray(data) for name, data in self.content.items()}
            other.free = self.free
            return other

    def _change(
        self,
        place: tuple[str, int],
        land: Callable[[], None],
        land_part: Callable[[int | Random], None],
    ) -> None:
        with self._one_at_a_time:
            if self.is_dead:
                raise PowerLost
            self.call_count += 1
            self.place_of_call[self.call_count] = place
            failure, death = self.failure, self.death
            if failure is not None and self.call_count >= failure.call:
                if self.call_count == failure.call:
                    land_part(failure.landed_bytes)
                self.has_failed = True
                raise OSError(failure.error, f"injected at call {failure.call}")
            if death is not None and self.call_count == death.call:
                self.is_dead = True
                if death.fate == "landed":
                    land()
                elif death.fate == "torn":
                    land_part(Random(death.seed))
                raise PowerLost
            if self.call_count not in self.lies:
                land()

    # ---------------------------------------------------------------- Device

    def write(self, file: str, offset: int, data: bytes | memoryview) -> None:
        kept = bytes(data)

        def land() -> None:
            self.content[file][offset : offset + len(kept)] = kept

        def land_part(which: int | Random) -> None:
            for start in range(0, len(kept), UNIT_SIZE):
                if which.random() < 0.5 if isinstance(which, Random) else start < which:
                    unit = kept[start : start + UNIT_SIZE]
                    self.content[file][offset + start : offset + start + len(unit)] = unit

        self._change((file, offset), land, land_part)
        self.writes.append((file, offset, len(kept)))
        for tell in self.told:
            tell(file, offset, kept)

    def create(self, file: str, chunks: Iterable[bytes | memoryview]) -> None:
        content = bytearray().join(chunks)
        self._whole(file, lambda: self.content.__setitem__(file, content))

    def rename(self, old: str, new: str) -> None:
        self._whole(new, lambda: self.content.__setitem__(new, self.content.pop(old)))

    def _whole(self, file: str, land: Callable[[], None]) -> None:
        """A change that happens or does not: a name appears, or it does not."""

        def land_part(which: int | Random) -> None:
            if isinstance(which, Random) and which.random() < 0.5:
                land()

        self._change((file, 0), land, land_part)
