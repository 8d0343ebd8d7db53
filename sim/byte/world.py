"""One directory and what the outside world was told of it: the model of the byte level.

The model is a list of batches and how many of them were acknowledged; everything else is the
real log on the simulated disk. Checkers report into `violations`; the first one ends the seed.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from random import Random
from typing import TYPE_CHECKING, Final
from zlib import crc32

from fusee.base.errors import AcknowledgedDataLost, DirectoryRefused
from fusee.base.limits import BLOCK_SIZE
from fusee.io.file_log import FileLog, Recovered
from fusee.io.log_files import NewGroup
from fusee.log import superblock as sb
from fusee.log.segment import DATA_START, segment_number
from fusee.testing.checkers.recoverable import Forecast, copies_held, forecast
from fusee.testing.checkers.reopened import check_opened, check_refused
from fusee.testing.checkers.written import Written
from fusee.testing.device import PowerLost, SimDevice
from fusee.testing.disk import Damage, Disk, Landing, land_part, units_of
from fusee.testing.marks import Marks
from fusee.testing.seeds import stream
from fusee.testing.trace import Trace
from sim.byte.foreign import OUR_GROUP, OUR_INCARNATION
from sim.byte.plan import Plan
from sim.byte.refusals import refusal_mark
from sim.byte.submitter import HeldSubmitter
from sim.misread import MisreadDevice

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fusee.log.batch import Batch

NEW: Final = NewGroup(group_id=OUR_GROUP, incarnation=OUR_INCARNATION)
_LIES: Final = (Damage.LOST, Damage.MISDIRECTED)
GARBAGE: Final = 0.2
"""How often a write cut off by a crash leaves one unit unusable, at most."""


class Broken(Exception):
    """A checker found a broken promise; the text is the violation."""


class World:
    """The state of one seed."""

    def __init__(self, seed: int, plan: Plan) -> None:
        self.plan = plan
        self.t_us = 0
        self.trace = Trace()
        self.counters: Counter[str] = Counter()
        self.marks = Marks()
        self.disk = Disk()
        self.written = Written()
        self.known: list[Batch] = []
        """Every batch of this log from op 1 on; behind the acknowledged ones, one in flight."""
        self.acked_op = 0
        self.promised_sequence = 0
        """The newest superblock that somebody may have acted on."""
        self.is_formatted = False
        self.may_format = True
        self.device = MisreadDevice(self.disk, watcher=self.written)
        self.submitter = HeldSubmitter(self.device)
        self.log: FileLog | None = None
        self._before = self.disk
        self.crash = stream(seed, "crash")
        self.time = stream(seed, "time")
        self._open = stream(seed, "open")
        self._clone = stream(seed, "clone")

    # ------------------------------------------------------------ notes

    def note(self, code: str, *values: int | str) -> None:
        """Add to the trace."""
        self.trace.add(self.t_us, code, *values)

    def fault(self, name: str) -> None:
        """Count a fault, or something else that the generator did on purpose."""
        self.counters[name] += 1
        self.marks.hit(name)
        self.note(name)

    def check(self, wrong: list[str]) -> None:
        """End the seed if a checker found something."""
        if wrong:
            raise Broken("; ".join(wrong))

    # ------------------------------------------------------------ opening

    def start_process(self) -> None:
        """Let a new process come to the disk."""
        garbage = GARBAGE * min(1.0, 3 * self.plan.rate("garbage"))
        self.device = MisreadDevice(
            self.disk, watcher=self.written, is_buffered=self.plan.is_buffered, garbage=garbage
        )
        self.submitter = HeldSubmitter(self.device)
        self.log = None

    def open(self, *, with_faults: bool, override: str = "") -> bool:
        """Open the log once; say whether it is open. `override` is why it must refuse."""
        self.start_process()
        if with_faults:
            self._set_faults_of_open()
        expected = forecast(self.disk, self.written)
        if override:
            expected = Forecast(must_refuse=override, stored=expected.stored)
        elif not self.is_formatted:
            expected = Forecast(stored=None)
        before = self._saved()
        if with_faults:
            self._before = self.disk.clone()
        found: list[Batch] = []
        self.counters["opens"] += 1
        try:
            recovered = self.open_on(self.device, self.submitter, found)
        except PowerLost:
            self._settle_superblock()
            self._note_crash("open")
            return False
        except (DirectoryRefused, AcknowledgedDataLost) as error:
            self._refused(expected, error, before)
            return False
        except OSError as error:
            # The process gives up; whether it may is the device's to say.
            if not self.device.done:
                raise Broken(f"opening failed without cause: {error}") from error
            self.note("open-failed", str(error.errno))
            self._settle_superblock()
            self._note_device()
            return False
        self._opened(expected, recovered, found)
        return True

    def open_on(self, device: SimDevice, submitter: HeldSubmitter, found: list[Batch]) -> Recovered:
        """Open the log on a device, handing its batches to `found`."""
        return FileLog.open(
            device,
            submitter=submitter,
            on_batch=found.append,
            now_us=self.t_us,
            format_new=NEW if self.may_format else None,
            sizes=self.plan.sizes,
        )

    def _set_faults_of_open(self) -> None:
        random, device, plan = self._open, self.device, self.plan
        if random.random() < plan.rate("crash-in-open"):
            device.crash_after(int(random.random() * 10), self.crash)
        # One lie of a disk at a time: a read that hides the witness of a write that was lost
        # is beyond what anybody can tell.
        is_lying = any(how in _LIES for _, _, how in self.disk.damaged())
        may_lie = plan.is_beyond or not is_lying
        if random.random() < plan.rate("misread") and may_lie:
            self._set_misread()
        if random.random() < plan.rate("read-error") and may_lie:
            device.fail_read_after(int(random.random() * 16))
        if random.random() < plan.rate("write-error") / 4:
            device.fail_after(int(random.random() * 8), random)
        if random.random() < plan.rate("lost") / 4:
            device.lose_after(int(random.random() * 4))

    def _set_misread(self) -> None:
        """Let a read go wrong: any one, or one of the last frames, which decide about the end."""
        random, frames = self._open, self.written.frames
        if not frames or random.random() < 0.5:
            self.device.misread_after(int(random.random() * 16), random)
            return
        frame = frames[-1 - min(int(random.expovariate(0.7)), len(frames) - 1)]
        for name, file in self.disk.names.items():
            if file.number == frame.file:
                self.device.misread_block(name, frame.offset, int(random.random() * 3))

    def _settle_superblock(self) -> None:
        """The process has chosen among the copies and written some: there is no way back."""
        if self.device.call_count and sb.FILE in self.disk.names:
            self.disk.settle(sb.FILE)

    def _note_device(self) -> None:
        for name in self.device.done:
            self.fault(f"fault:{name}")
            if name == "write-error" and self.device.is_buffered:
                self.marks.hit("fault:write-error-buffered")
        self.device.done.clear()

    def _saved(self) -> tuple[dict[str, int], int]:
        """Return what no refused opening may change; copies of the superblock are repaired."""
        return _images(self.disk), self.written.sequence_max

    def _refused(
        self, expected: Forecast, error: Exception, before: tuple[dict[str, int], int]
    ) -> None:
        self.counters["refusals_to_open"] += 1
        self.marks.hit(refusal_mark(error))
        self.note("refused", type(error).__name__, str(error)[:120])
        if not self.is_misled():
            # Who was told something wrong may doubt everything.
            self.check(check_refused(expected, error))
        # A format that a crash cut short is finished first: there is nothing to be kept yet.
        if self.is_formatted and self._saved() != before:
            raise Broken(f"opening was refused, and files were changed: {error}")
        self._note_device()

    def _opened(self, expected: Forecast, recovered: Recovered, found: list[Batch]) -> None:
        end = recovered.end
        self.marks.hit(f"scan:{end.case}{end.end_class}")
        if recovered.repaired_copies:
            self.marks.hit("superblock:repaired")
        self.note("opened", end.op, end.case, str(end.end_class), end.write_segment)
        if expected.stored is None and not expected.must_refuse:
            self.is_formatted, self.may_format = True, False
        else:
            self.check(self._compare(expected, recovered, found))
        if end.op < max(self.acked_op, expected.dropped_to):
            self.marks.hit("drop:silent" if end.is_certain else "drop:reported")
            if end.is_certain and not (self.plan.is_beyond or self.is_misled()):
                raise Broken("the atlas let a disk lie about its last frame")
        if end.op > self.acked_op:
            self.marks.hit("recovered:in-flight")
        is_base = end.prev_local == recovered.superblock.base.prev_local
        if not self.written.accept(end.prev_local) and not is_base:
            raise Broken("the log ends with a frame that was never written to it")
        if self.acked_op > end.op:
            self.counters["dropped"] += self.acked_op - end.op
        del self.known[end.op :]
        self.acked_op = end.op
        self.disk.settle()
        self.log = recovered.log
        self.promise()
        self.counters["recoveries"] += 1
        self._note_device()

    def _compare(self, expected: Forecast, recovered: Recovered, found: list[Batch]) -> list[str]:
        wrong = self._check_opened(expected, recovered, found)
        if wrong:
            # Each place that was read badly once may have counted, or have been read again.
            places = [place for place in self._read_badly() if self._is_read_once(place)]
            for count in range(1, len(places) + 1):
                for chosen in combinations(places, count):
                    if not self._check_opened(self._as_read(chosen), recovered, found):
                        return []
        return wrong

    def _check_opened(
        self, expected: Forecast, recovered: Recovered, found: list[Batch]
    ) -> list[str]:
        stored = expected.stored
        seq_max = self.written.seq_max
        is_back = stored is not None and stored.sequence < self.promised_sequence
        if is_back and self.plan.is_beyond:
            # The superblock went back, and nobody can know what was written since.
            seq_max = 0
        wrong = check_opened(expected, recovered, found, self.known, seq_max)
        if not wrong:
            self.written.seq_max = seq_max
        return wrong

    def is_misled(self) -> bool:
        """Whether the disk told this process something else than it holds."""
        return bool(self._read_badly())

    def _read_badly(self) -> list[tuple[int, int, int]]:
        return self.device.misread + self._failed_blocks()

    def _is_read_once(self, place: tuple[int, int, int]) -> bool:
        """Whether one bad read of a place may decide.

        Not where frames lie: an end in doubt is looked at twice, and its witnesses too. Unless
        the disk lies on top of it, for a place that looks torn is no doubt.
        """
        number, offset, _ = place
        is_lying = any(how in _LIES for _, _, how in self._before.damaged())
        is_frame = offset >= DATA_START and number != self._before.names[sb.FILE].number
        return is_lying or self.plan.is_beyond or not is_frame

    def _failed_blocks(self) -> list[tuple[int, int, int]]:
        """Return the single blocks that could not be read once.

        A failed read of many is done again block by block, and does not count.
        """
        return [place for place in self.device.failed_reads if place[2] == BLOCK_SIZE]

    def _as_read(self, places: Iterable[tuple[int, int, int]]) -> Forecast:
        """Return the forecast for a disk on which places that read badly once are damaged."""
        trial = self._before.clone()
        names = {file.number: name for name, file in trial.names.items()}
        for number, offset, size in places:
            for unit in units_of(offset, size):
                trial.garble(names[number], unit, Random(0))
        return forecast(trial, self.written)

    def promise(self) -> None:
        """Note that the superblock as it is now may have been acted on."""
        sequence = self.written.sequence_max
        if sequence == self.promised_sequence:
            return
        self.promised_sequence = sequence
        copies = copies_held(self.disk, self.written, sequence)
        # What was read back wrongly, or rots meanwhile, is not the log's doing.
        if self.is_misled() or self.plan.is_beyond:
            return
        if copies < sb.WRITE_QUORUM:
            raise Broken(f"a superblock was acted on that only {copies} copies hold")
        if copies < sb.COPY_COUNT and self.device.lies < 2:
            raise Broken(f"a copy was not written again: {copies} of {sb.COPY_COUNT} hold it")

    # ------------------------------------------------------------ the end of a process

    def lose_power(self, garbage: float | None = None) -> None:
        """Cut the power between two calls."""
        self.device.crash(self.crash, garbage)
        self._note_crash("work")

    def _note_crash(self, phase: str) -> None:
        device = self.device
        self.counters["crashes"] += 1
        self.marks.hit(f"crash:{phase}")
        self.marks.hit(f"crash:in-{device.struck or 'between'}")
        for name, offset, landing in device.landings:
            place = "frame" if name != sb.FILE else f"superblock-{offset // sb.COPY_DISTANCE}"
            self.marks.hit(f"landing:{landing}")
            self.marks.hit(f"crash:{place}")
            if landing in (Landing.PREFIX, Landing.SUBSET):
                self.counters["fault:torn"] += 1
                self.marks.hit("fault:torn")
        self.note("crash", phase, device.struck, *(str(landing) for *_, landing in device.landings))
        self._note_device()
        self.log = None

    def note_end(self) -> None:
        """Note that the process has ended in good order."""
        self._note_device()
        self.log = None

    def crashed_inside(self) -> None:
        """Note that power was lost inside a call of the log."""
        self._note_crash("work")

    # ------------------------------------------------------------ O-9

    def recover_clone(self) -> None:
        """Recover a copy of the disk as it would be if power were lost now, and check that."""
        random = self._clone
        disk = self.disk.clone()
        for write in self.device.in_flight:
            land_part(disk, write.name, write.offset, write.data, random, self.device.garbage)
        expected = forecast(disk, self.written)
        device = SimDevice(disk)
        found: list[Batch] = []
        self.counters["clones"] += 1
        try:
            recovered = self.open_on(device, HeldSubmitter(device), found)
        except (DirectoryRefused, AcknowledgedDataLost) as error:
            self.marks.hit("clone:refused")
            self.check(check_refused(expected, error))
            return
        self.counters["recoveries"] += 1
        self.marks.hit(f"scan:{recovered.end.case}{recovered.end.end_class}")
        self.check(check_opened(expected, recovered, found, self.known, self.written.seq_max))
        self.note("clone", recovered.end.op, recovered.end.case)
        again: list[Batch] = []
        device = SimDevice(disk)
        second = self.open_on(device, HeldSubmitter(device), again)
        if [b.data for b in again] != [b.data for b in found]:
            raise Broken("two openings of one disk found different batches")
        if second.end.end_class is not recovered.end.end_class:
            raise Broken("the second opening of a disk is of another mind about its end")


def _images(disk: Disk) -> dict[str, int]:
    return {
        name: crc32(file.image)
        for name, file in disk.names.items()
        if segment_number(name) is not None
    }
