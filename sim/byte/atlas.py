"""Damage to a disk at rest, kept inside what a single disk promises to survive.

What is promised: nothing acknowledged is dropped in silence, and a promise of the superblock
never goes back. A disk that lies about its last frame, or loses three of four superblocks,
can break that, and no software could tell. So after each blow the oracle is asked, and what
reaches beyond the atlas is taken back; but for a few seeds that are about just that, where
stopping is expected and lying is still forbidden.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.base.limits import BLOCK_SIZE, UNIT_SIZE
from fusee.log import superblock as sb
from fusee.log.segment import DATA_START, segment_number, spare_name
from fusee.testing.checkers.recoverable import forecast
from fusee.testing.device import InFlight
from fusee.testing.seeds import stream
from sim.byte.foreign import foreign_segment
from sim.byte.forge import forge

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from fusee.testing.checkers.written import FrameWritten, Written
    from fusee.testing.disk import Disk
    from sim.byte.plan import Plan


def rot(disk: Disk, name: str, offset: int, bit: int) -> None:
    """Flip a bit of a sound unit: flipped twice it would bring back what a log has given up."""
    if not disk.names[name].has_damage(offset, 1):
        disk.flip_bit(name, offset, bit)


class Atlas:
    """Strikes a disk between two processes."""

    def __init__(self, seed: int, plan: Plan, disk: Disk, note: Callable[[str], None]) -> None:
        self.plan = plan
        self.disk = disk
        self._note = note
        self._blows: dict[str, Callable[[Written, Random], str]] = {
            "rot": self._rot,
            "unreadable": self._unreadable,
            "garbage": self._garbage,
            "lost": self._lost,
            "misdirected": self._misdirected,
            "superblock": self._superblock,
            "foreign": self._foreign,
        }
        self._streams = {family: stream(seed, f"atlas/{family}") for family in self._blows}

    def strike(self, written: Written, promised_sequence: int) -> None:
        """Let every family that the seed knows have its chance."""
        for family, blow in self._blows.items():
            random = self._streams[family]
            if random.random() >= self.plan.rate(family):
                continue
            before = None if self.plan.is_beyond else self.disk.clone()
            name = blow(written, random)
            if before is not None and self._is_outside(written, promised_sequence):
                self.disk.set_back(before)
                self._note("atlas:taken-back")
            elif name:
                self._note(f"fault:{name}")

    def _is_outside(self, written: Written, promised_sequence: int) -> bool:
        after = forecast(self.disk, written)
        if after.stored is None or after.stored.sequence < promised_sequence:
            return True
        return after.may_drop_silently and after.dropped_to > after.op_min

    # ------------------------------------------------------------ single units

    def _place(self, written: Written, random: Random) -> tuple[str, int] | None:
        """Return a unit worth damaging: mostly of the last frames, or just behind them."""
        kind = random.random()
        names = {file.number: name for name, file in self.disk.names.items()}
        if kind < 0.65 and written.frames:
            back = 0 if kind < 0.2 else int(random.expovariate(0.2))
            frame = written.frames[-1 - min(back, len(written.frames) - 1)]
            name = names.get(frame.file)
            if name is None:
                return None
            units = len(frame.data) // UNIT_SIZE
            unit = int(random.random() * units)
            if kind > 0.5:  # Behind it.
                unit = units + int(random.random() * 16)
            unit += frame.offset // UNIT_SIZE
        elif kind < 0.8:
            name, unit = self._header(random)
        else:
            name = random.choice(sorted(self.disk.names))
            unit = int(random.random() * (len(self.disk.names[name].image) // UNIT_SIZE))
        if (unit + 1) * UNIT_SIZE > len(self.disk.names[name].image):
            return None
        return name, unit

    def _header(self, random: Random) -> tuple[str, int]:
        """Return the first unit of a copy of a header or of the superblock."""
        name = random.choice(sorted(self.disk.names))
        if name == sb.FILE:
            return name, sb.copy_offset(int(random.random() * sb.COPY_COUNT)) // UNIT_SIZE
        return name, int(random.random() * 2) * BLOCK_SIZE // UNIT_SIZE

    def _rot(self, written: Written, random: Random) -> str:
        for _ in range(1 + int(random.random() * (9 if self.plan.is_beyond else 2))):
            place = self._place(written, random)
            if place is not None:
                byte = int(random.random() * UNIT_SIZE)
                if random.random() < 0.4:  # The tags decide most.
                    byte = UNIT_SIZE - 1 - byte % 8
                bit = int(random.random() * 8)
                rot(self.disk, place[0], place[1] * UNIT_SIZE + byte, bit)
        return "rot"

    def _unreadable(self, written: Written, random: Random) -> str:
        place = self._place(written, random)
        if place is not None:
            self.disk.make_unreadable(*place)
        return "unreadable"

    def _garbage(self, written: Written, random: Random) -> str:
        place = self._place(written, random)
        if place is not None:
            self.disk.garble(*place, random)
        return "garbage"

    # ------------------------------------------------------------ writes that went elsewhere

    def _victim(self, written: Written, random: Random) -> tuple[str, FrameWritten] | None:
        """Return a frame that was reported durable: the last one only beyond the atlas."""
        done = [frame for frame in written.frames if frame.is_done]
        last = len(done) if self.plan.is_beyond else len(done) - 1
        if last <= 0:
            return None
        frame = done[last - 1 - min(int(random.expovariate(0.3)), last - 1)]
        for name, file in self.disk.names.items():
            if file.number == frame.file and segment_number(name) == frame.segment:
                return name, frame
        return None

    def _lose(self, name: str, frame: FrameWritten, units: range) -> None:
        for unit in units:
            older = frame.before[unit * UNIT_SIZE : (unit + 1) * UNIT_SIZE]
            self.disk.lose(name, frame.offset // UNIT_SIZE + unit, older)

    def _lost(self, written: Written, random: Random) -> str:
        victim = self._victim(written, random)
        if victim is None:
            return ""
        units = len(victim[1].data) // UNIT_SIZE
        start = 0 if random.random() < 0.6 else int(random.random() * units)
        self._lose(*victim, range(start, units))
        return "lost"

    def _misdirected(self, written: Written, random: Random) -> str:
        victim = self._victim(written, random)
        if victim is None:
            return ""
        name, frame = victim
        self._lose(name, frame, range(len(frame.data) // UNIT_SIZE))
        target = name if random.random() < 0.5 else random.choice(sorted(self.disk.names))
        size = len(self.disk.names[target].image)
        if random.random() < 0.5:
            offset = frame.offset + int(random.random() * 16 - 8) * UNIT_SIZE
        else:
            offset = int(random.random() * (size // BLOCK_SIZE)) * BLOCK_SIZE
        offset = max(0, min(offset, size - UNIT_SIZE))
        if offset != frame.offset or target != name:
            self.disk.misdirect(target, offset, frame.data)
        return "misdirected"

    # ------------------------------------------------------------ superblock, other directories

    def _superblock(self, written: Written, random: Random) -> str:
        most = sb.COPY_COUNT if self.plan.is_beyond else 2
        copies = random.sample(range(sb.COPY_COUNT), 1 + int(random.random() * most))
        how = random.choice(("rot", "unreadable", "garbage", "older", "zeros"))
        back = 2 + int(random.random() * 3)
        for copy in copies:
            unit = sb.copy_offset(copy) // UNIT_SIZE
            if how == "rot":
                byte = unit * UNIT_SIZE + int(random.random() * BLOCK_SIZE)
                rot(self.disk, sb.FILE, byte, int(random.random() * 8))
            elif how == "unreadable":
                self.disk.make_unreadable(sb.FILE, unit + int(random.random() * 8))
            elif how == "garbage":
                self.disk.garble(sb.FILE, unit, random)
            elif how == "zeros":
                self.disk.misdirect(sb.FILE, sb.copy_offset(copy), bytes(BLOCK_SIZE))
            else:
                mine = [block for block, (index, _) in written.copies.items() if index == copy]
                block = mine[-min(back, len(mine))]
                for place in range(0, BLOCK_SIZE, UNIT_SIZE):
                    older = block[place : place + UNIT_SIZE]
                    self.disk.lose(sb.FILE, unit + place // UNIT_SIZE, older)
        return f"superblock-{how}"

    def _foreign(self, written: Written, random: Random) -> str:
        image = foreign_segment(random.random() < 0.5)
        stored = forecast(self.disk, written).stored
        stale = random.choice(("stale-chain", "stale-op"))
        forged = forge(stale, self.disk, written, stored) if stored else None
        if forged is not None and random.random() < 0.3:
            name, offset, data = forged
            written.add_remains(InFlight(name, self.disk.names[name], offset, data))
            self.disk.misdirect(name, offset, data)
            return stale
        if random.random() < 0.5 or not written.frames:
            self.disk.add(spare_name(900 + int(random.random() * 3)), bytearray(image))
            return "foreign-spare"
        last = written.frames[-1]
        offset = last.offset + len(last.data)
        for name, file in self.disk.names.items():
            if file.number == last.file and offset < len(file.image):
                self.disk.misdirect(name, offset, image[DATA_START : DATA_START + 2 * BLOCK_SIZE])
                return "foreign-bytes"
        return ""
