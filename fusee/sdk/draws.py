"""Time and chance of a run: each value is drawn once, journaled, and the same on every replay."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Protocol

from fusee.journal.machine import Machine
from fusee.record.kinds import OpKind


class Drawer(Protocol):
    """The loaded run that draws."""

    machine: Machine

    def draw(self, op: OpKind, fresh: bytes) -> bytes:
        """Number a drawn value; return it, or on replay the recorded one."""
        ...


class Draws:
    """What `ctx.now`, `random`, `rng` and `uuid4` return in one run."""

    __slots__ = ("_clock_us", "_entropy", "_rng", "_run")

    def __init__(
        self, run: Drawer, entropy: Callable[[int], bytes], clock_us: Callable[[], int]
    ) -> None:
        self._run: Drawer | None = run
        self._entropy = entropy
        self._clock_us = clock_us
        self._rng: Random | None = None

    def close(self) -> None:
        """The run has left memory: let go of it."""
        self._run = None

    def _draw(self, op: OpKind, fresh: bytes) -> bytes:
        assert self._run is not None, "a run that left memory has no context to draw from"
        return self._run.draw(op, fresh)

    def now_us(self) -> int:
        """Return group time, never behind the last time this run saw."""
        assert self._run is not None, "a run that left memory has no context to draw from"
        machine = self._run.machine
        fresh = max(self._clock_us(), machine.now_us)
        value = int.from_bytes(self._draw(OpKind.NOW, fresh.to_bytes(8, "big")), "big")
        machine.now_us = max(machine.now_us, value)
        return value

    def random(self) -> float:
        """Return a number in [0, 1) with 53 random bits."""
        data = self._draw(OpKind.RANDOM, self._entropy(8))
        return (int.from_bytes(data, "big") >> 11) * 2.0**-53

    def uuid(self) -> bytes:
        """Return the 16 bytes of a random UUID."""
        data = bytearray(self._draw(OpKind.UUID, self._entropy(16)))
        data[6] = data[6] & 0x0F | 0x40
        data[8] = data[8] & 0x3F | 0x80
        return bytes(data)

    def rng(self) -> Random:
        """Return the run's own generator, seeded by one draw at first use."""
        if self._rng is None:
            self._rng = Random(self._draw(OpKind.RANDOM, self._entropy(16)))
        return self._rng
