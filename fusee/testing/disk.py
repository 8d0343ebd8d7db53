"""The platters of a simulated disk: what survives every process and every loss of power.

    disk = Disk()
    device = SimDevice(disk)          # one process on it; see device.py
    other = disk.clone()              # the same platters once more, for a recovery on trial

A file is a row of 512-byte units. Only whole units change. A unit holds bytes, or cannot be
read until it is written again. Damage is done here, unit by unit, and never by the device's
ordinary calls; what a unit held before its damage is kept, so that damage can be healed.

A crash damages nothing: a write that it cuts off lands by units, and units that did not land
keep what they held (`land_part`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from fusee.base.limits import BLOCK_SIZE, UNIT_SIZE

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

UNFINISHED: Final = ".new"
"""What a crash inside `create` leaves has a name that ends so; nobody is shown it."""
FREE_BYTES: Final = 1 << 40


class Damage(StrEnum):
    """How a unit came to hold something else than was last written there."""

    GARBAGE = "garbage"
    UNREADABLE = "unreadable"
    BIT_ROT = "bit-rot"
    LOST = "lost"
    """The write was reported and never done: the unit is older than it should be."""
    MISDIRECTED = "misdirected"
    """Another write landed here."""


class File:
    """One file's units. The number stays with it over renames and in clones."""

    __slots__ = ("damaged", "image", "number", "settled", "unreadable")

    def __init__(self, number: int, image: bytearray) -> None:
        self.number = number
        self.image = image
        self.unreadable: set[int] = set()
        self.damaged: dict[int, tuple[Damage, bytes]] = {}
        """Unit -> how it was damaged, and what it held."""
        self.settled: dict[int, Damage] = {}
        """Damage that nothing takes back."""

    def held(self, offset: int, size: int) -> bytes:
        """Return what the platter holds there, readable or not."""
        return bytes(self.image[offset : offset + size])

    def unit(self, unit: int) -> bytes:
        """Return what the platter holds in one unit, readable or not."""
        return bytes(self.image[unit * UNIT_SIZE : (unit + 1) * UNIT_SIZE])

    def put(self, offset: int, data: bytes) -> None:
        """Let whole units land; they are sound from now on."""
        self.image[offset : offset + len(data)] = data
        if self.damaged or self.settled:
            for unit in units_of(offset, len(data)):
                self.damaged.pop(unit, None)
                self.settled.pop(unit, None)
                self.unreadable.discard(unit)

    def can_read(self, offset: int, size: int) -> bool:
        """Whether every unit of the range can be read."""
        unreadable = self.unreadable
        return not unreadable or unreadable.isdisjoint(units_of(offset, size))

    def has_damage(self, offset: int, size: int) -> bool:
        """Whether a unit of the range holds something else than was last written there."""
        return any(unit in self.damaged or unit in self.settled for unit in units_of(offset, size))

    def clone(self) -> File:
        """Return the same file once more."""
        other = File(self.number, bytearray(self.image))
        other.unreadable = set(self.unreadable)
        other.damaged = dict(self.damaged)
        other.settled = dict(self.settled)
        return other


def units_of(offset: int, size: int) -> range:
    """Return the numbers of the units of a range of bytes."""
    return range(offset // UNIT_SIZE, (offset + size + UNIT_SIZE - 1) // UNIT_SIZE)


class Disk:
    """All files of one directory, by name."""

    def __init__(self) -> None:
        self.names: dict[str, File] = {}
        self.free_bytes = FREE_BYTES
        self._next_number = 1

    def add(self, name: str, image: bytearray) -> File:
        """Put a whole file there, replacing one of the same name."""
        file = File(self._next_number, image)
        self._next_number += 1
        self.names[name] = file
        return file

    def clone(self) -> Disk:
        """Return the same platters once more; nothing is shared with this one."""
        other = Disk()
        other.set_back(self)
        return other

    def set_back(self, earlier: Disk) -> None:
        """Hold what another disk holds, as when a snapshot of the volume is restored."""
        self.names = {name: file.clone() for name, file in earlier.names.items()}
        self.free_bytes = earlier.free_bytes
        self._next_number = max(self._next_number, earlier._next_number)

    def wipe(self) -> None:
        """Lose everything."""
        self.names.clear()

    # ------------------------------------------------------------ damage

    def _damage(self, name: str, unit: int, how: Damage) -> File:
        file = self.names[name]
        before = file.damaged.get(unit)
        file.damaged[unit] = (how, file.unit(unit) if before is None else before[1])
        return file

    def make_unreadable(self, name: str, unit: int) -> None:
        """Let reads of the unit fail until it is written."""
        self._damage(name, unit, Damage.UNREADABLE).unreadable.add(unit)

    def flip_bit(self, name: str, offset: int, bit: int) -> None:
        """Let one bit of a byte rot."""
        self._damage(name, offset // UNIT_SIZE, Damage.BIT_ROT).image[offset] ^= 1 << bit

    def garble(self, name: str, unit: int, random: Random) -> None:
        """Let a unit hold bytes that nobody wrote."""
        garbage = random.randbytes(UNIT_SIZE)
        file = self._damage(name, unit, Damage.GARBAGE)
        file.image[unit * UNIT_SIZE : (unit + 1) * UNIT_SIZE] = garbage

    def lose(self, name: str, unit: int, older: bytes) -> None:
        """Let a unit hold what it held before it was last written."""
        file = self._damage(name, unit, Damage.LOST)
        file.image[unit * UNIT_SIZE : (unit + 1) * UNIT_SIZE] = older

    def misdirect(self, name: str, offset: int, data: bytes) -> None:
        """Let units land where they do not belong; the end of the file cuts them off."""
        size = min(len(data), len(self.names[name].image) - offset)
        for index, unit in enumerate(units_of(offset, size)):
            file = self._damage(name, unit, Damage.MISDIRECTED)
            content = data[index * UNIT_SIZE : (index + 1) * UNIT_SIZE]
            file.image[unit * UNIT_SIZE : (unit + 1) * UNIT_SIZE] = content

    def cut_short(self, name: str, size: int) -> None:
        """Let the end of a file be gone."""
        del self.names[name].image[size:]

    def damaged(self) -> Iterable[tuple[str, int, Damage]]:
        """Return every damaged unit: file, unit, how."""
        for name, file in self.names.items():
            for unit, how in file.settled.items():
                yield name, unit, how
            for unit, (how, _) in file.damaged.items():
                yield name, unit, how

    def has_damage(self) -> bool:
        """Whether any unit holds something else than was last written there."""
        return any(file.damaged or file.settled for file in self.names.values())

    def heal(self) -> int:
        """Undo all damage that is not settled, and return of how many units."""
        count = 0
        for file in self.names.values():
            count += len(file.damaged)
            for unit, (_, held) in file.damaged.items():
                file.image[unit * UNIT_SIZE : (unit + 1) * UNIT_SIZE] = held
            file.damaged.clear()
            file.unreadable.clear()
        return count

    def settle(self, *names: str) -> None:
        """Let damage be what the platters hold: nothing brings back what was there before.

        Of some files, or of all. An unreadable unit is not settled: it may read well on
        another day.
        """
        for file in [self.names[name] for name in names or self.names]:
            for unit, (how, _) in list(file.damaged.items()):
                if unit not in file.unreadable:
                    del file.damaged[unit]
                    file.settled[unit] = how


# ---------------------------------------------------------------- a write that is cut off


class Landing(StrEnum):
    """How much of a write landed that never ended."""

    NOTHING = "nothing"
    ALL = "all"
    PREFIX = "prefix"
    SUBSET = "subset"


def land_part(
    disk: Disk, name: str, offset: int, data: bytes, random: Random, garbage: float = 0.0
) -> Landing:
    """Let a write that was cut off land as the generator says; return how.

    With probability `garbage` one of its units, landed or not, then holds garbage or cannot
    be read: the write head was over it.
    """
    landing = _LANDINGS[int(random.random() * len(_LANDINGS))]
    file = disk.names[name]
    units = len(data) // UNIT_SIZE
    if landing is Landing.ALL:
        file.put(offset, data)
    elif landing is Landing.PREFIX:
        file.put(offset, data[: int(random.random() * (units + 1)) * UNIT_SIZE])
    elif landing is Landing.SUBSET:
        share = random.random()
        for start in range(0, len(data), UNIT_SIZE):
            if random.random() < share:
                file.put(offset + start, data[start : start + UNIT_SIZE])
    if garbage and random.random() < garbage:
        unit = offset // UNIT_SIZE + int(random.random() * min(units, _HEAD_UNITS))
        if random.random() < 0.5:
            disk.garble(name, unit, random)
        else:
            disk.make_unreadable(name, unit)
    return landing


_LANDINGS: Final = tuple(Landing)
_HEAD_UNITS: Final = 4 * BLOCK_SIZE // UNIT_SIZE
"""Garbage is looked for among the first units, where it tells the cases of the scan apart."""
