"""A disk in memory that fails as real ones do: at a call we choose, and by losing power.

A write is durable when `write` returns. One that is cut off by a crash lands by 512-byte
units, each on its own, in any order: lost, landed, or (if asked for) garbage. It never
touches what an earlier call made durable; a fault that did would report bugs that the real
world cannot have. Bit rot and unreadable places are asked for one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

BLOCK_SIZE = 4096
UNIT_SIZE = 512


class PowerLost(BaseException):
    """The process is gone; nothing it would have done next happens."""


class RamDevice:
    def __init__(self) -> None:
        self.content: dict[str, bytearray] = {}
        self.free = 1 << 40
        self.unreadable: set[tuple[str, int]] = set()
        self.call_count = 0
        self.writes: list[tuple[str, int, int]] = []
        self._fail_at: int | None = None
        self._error: BaseException | None = None
        self._fate: Callable[[str, int, bytes], None] | None = None
        self._random = Random(0)
        self._buffer = bytearray(BLOCK_SIZE)

    # ---------------------------------------------------------------- faults

    def fail_after(self, calls: int, error: BaseException, landed_bytes: int = 0) -> None:
        """Let the changing call after `calls` more of them fail, having landed only so much."""

        def cut(file: str, offset: int, data: bytes) -> None:
            self.content[file][offset : offset + landed_bytes] = data[:landed_bytes]

        self._fail_at = self.call_count + calls
        self._error = error
        self._fate = cut

    def lose_power_after(self, calls: int, random: Random, garbage: float = 0.0) -> None:
        """Let power go within a later changing call; its units land as `random` says."""

        def tear(file: str, offset: int, data: bytes) -> None:
            whole = random.choice(("lost", "landed", "torn", "torn"))
            image = self.content[file]
            for start in range(0, len(data), UNIT_SIZE):
                if whole == "lost" or (whole == "torn" and random.random() < 0.5):
                    continue
                unit = data[start : start + UNIT_SIZE]
                if whole == "torn" and random.random() < garbage:
                    unit = random.randbytes(len(unit))
                image[offset + start : offset + start + len(unit)] = unit

        self._fail_at = self.call_count + calls
        self._error = PowerLost()
        self._fate = tear
        self._random = random

    def power_on(self) -> None:
        self._fail_at = self._error = self._fate = None

    def flip(self, file: str, offset: int, bit: int = 0) -> None:
        self.content[file][offset] ^= 1 << bit

    def garble(self, file: str, offset: int, size: int = UNIT_SIZE, seed: int = 1) -> None:
        self.content[file][offset : offset + size] = Random(seed).randbytes(size)

    def copy(self) -> RamDevice:
        other = RamDevice()
        other.content = {name: bytearray(data) for name, data in self.content.items()}
        other.unreadable = set(self.unreadable)
        return other

    def _changing_call(self) -> bool:
        """Count the call; say whether this is the one that fails."""
        self.call_count += 1
        return self._fail_at is not None and self.call_count > self._fail_at

    # ---------------------------------------------------------------- Device

    @property
    def flush_ns(self) -> int:
        return 0

    def buffer(self, size: int) -> memoryview:
        assert size % BLOCK_SIZE == 0
        if len(self._buffer) < size:
            self._buffer = bytearray(size)
        return memoryview(self._buffer)[:size]

    def write(self, file: str, offset: int, data: bytes | memoryview) -> None:
        assert offset % BLOCK_SIZE == 0
        assert len(data) % BLOCK_SIZE == 0
        assert offset + len(data) <= len(self.content[file]), "a write never grows a file"
        if self._changing_call():
            assert self._error is not None
            if self._fate is not None:
                self._fate(file, offset, bytes(data))
            raise self._error
        self.writes.append((file, offset, len(data)))
        self.content[file][offset : offset + len(data)] = data

    def read(self, file: str, offset: int, size: int) -> bytes:
        assert offset % BLOCK_SIZE == 0
        assert size % BLOCK_SIZE == 0
        if file not in self.content:
            raise FileNotFoundError(file)
        for start in range(offset, offset + size, BLOCK_SIZE) if self.unreadable else ():
            if (file, start) in self.unreadable:
                raise OSError(5, "Input/output error")
        return bytes(memoryview(self.content[file])[offset : offset + size])

    def size(self, file: str) -> int:
        return len(self.content[file]) if file in self.content else -1

    def files(self) -> list[str]:
        return sorted(self.content)

    def create(self, file: str, chunks: Iterable[bytes | memoryview]) -> None:
        content = bytearray().join(chunks)
        if self._changing_call():
            assert self._error is not None
            if self._fate is not None and self._random.random() < 0.5:
                self.content[file] = content
            raise self._error
        self.content[file] = content

    def rename(self, old: str, new: str) -> None:
        if self._changing_call():
            assert self._error is not None
            if self._fate is not None and self._random.random() < 0.5:
                self.content[new] = self.content.pop(old)
            raise self._error
        self.content[new] = self.content.pop(old)

    def free_bytes(self) -> int:
        return self.free

    def close(self) -> None:
        pass
