"""The byte level: the real log, scan and superblock on a disk of 512-byte units.

A seed is a directory that lives through some processes. Each opens the log, works, and ends
by a crash at any point, a failed write or a close; between two of them the disk is damaged.
Every opening is compared with what the oracle forecast, and every few actions a copy of the
disk is recovered as if power had gone just then. At last the faults end: what can be healed
is healed, and then the directory must open, take batches and keep them.
"""

from __future__ import annotations

from dataclasses import dataclass
from traceback import format_exception
from typing import TYPE_CHECKING, Final

from fusee.base.errors import EngineStopped, StorageFull
from fusee.testing.checkers.recoverable import forecast
from fusee.testing.device import PowerLost
from fusee.testing.outcome import SeedOutcome, Stuck, Verdict
from fusee.testing.seeds import stream
from sim.byte.atlas import Atlas
from sim.byte.marks import MARKS
from sim.byte.plan import FAMILIES, draw_plan
from sim.byte.structure import LATER, STRUCTURES, tamper
from sim.byte.work import Worker
from sim.byte.world import Broken, World

if TYPE_CHECKING:
    from fusee.log.batch import Batch
    from fusee.testing.checkers.written import Written
    from fusee.testing.disk import Disk

__all__ = ["FAMILIES", "MARKS", "NAME", "WORK", "Options", "Run", "run_seed"]

NAME: Final = "byte"
WORK: Final = {"batches": 12, "crashes": 3, "recoveries": 6}
"""Well below what half of the seeds do (19 to 21 batches): for a generator that has gone lame."""
EVENTS_MAX: Final = 1 << 20
_TRIES_MAX: Final = 12
_STEP_US_MEAN: Final = 400


@dataclass(frozen=True)
class Options:
    """What a command line can switch off."""

    without: frozenset[str] = frozenset()
    events_max: int = EVENTS_MAX


def run_seed(seed: int, options: Options) -> SeedOutcome:
    """Run one seed to its end."""
    run = Run(seed, options)
    world = run.world
    verdict, violations = Verdict.CLEAN, ()
    try:
        run.run()
    except Broken as broken:
        verdict, violations = Verdict.VIOLATION, (str(broken),)
    except Stuck as stuck:
        verdict, violations = Verdict.STUCK, (str(stuck),)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        verdict, violations = Verdict.CRASHED, (text, "".join(format_exception(error)[-6:]))
    return SeedOutcome(
        seed,
        verdict,
        violations,
        world.trace.hash,
        dict(sorted(world.counters.items())),
        world.marks.names(),
        () if verdict is Verdict.CLEAN else world.trace.lines(),
    )


class Run:
    """One seed from its first opening to its last. Another world is for checking the checkers."""

    def __init__(self, seed: int, options: Options, world: type[World] = World) -> None:
        self.plan = draw_plan(seed, options.without)
        self.world = world(seed, self.plan)
        self._options = options
        self._atlas = Atlas(seed, self.plan, self.world.disk, self.world.fault)
        self._worker = Worker(seed, self.plan, self.world)
        self._life = stream(seed, "life")
        self._restore = stream(seed, "restore")
        self._structure = stream(seed, "structure")
        self._snapshot: tuple[Disk, Written, list[Batch], int, int] | None = None

    def run(self) -> None:
        """Faults first, then none."""
        for _ in range(self.plan.lives):
            if self.world.counters["events"] >= self._options.events_max:
                break
            if self._open():
                self._work()
            self._at_rest()
        self._converge()

    # ------------------------------------------------------------ opening

    def _open(self) -> bool:
        """Open until it succeeds; what is refused is healed."""
        crashes = 0
        for _ in range(_TRIES_MAX):
            if self.world.open(with_faults=True):
                return True
            crashes = crashes + 1 if self.world.device.is_off else 0
            if crashes == 2:
                self.world.marks.hit("crash:loop")
            must_heal = bool(forecast(self.world.disk, self.world.written).must_refuse)
            if self._life.random() < 0.5 or must_heal:
                self._heal()
        return False

    def _heal(self) -> None:
        self.world.counters["healed"] += self.world.disk.heal()
        self.world.note("heal")

    # ------------------------------------------------------------ a life

    def _work(self) -> None:
        world, random = self.world, self._life
        self._worker.begin()
        steps = 1 + int(random.random() * self.plan.steps_max)
        if random.random() < 0.6:
            world.device.crash_after(int(random.random() * 2 * steps), world.crash)
        clones = self.plan.clones / (self.plan.lives * steps)
        try:
            for _ in range(steps):
                world.t_us += 1 + int(world.time.expovariate(1 / _STEP_US_MEAN))
                self._worker.step()
                if random.random() < clones:
                    world.recover_clone()
        except PowerLost:
            world.crashed_inside()
            return
        except (OSError, EngineStopped) as error:
            if world.device.is_off:  # The log keeps what ended it, power lost included.
                world.crashed_inside()
                return
            self._check_stopped(error)
        self._end(random.random())

    def _check_stopped(self, error: Exception) -> None:
        """The log may stop for a fault of the disk, and for nothing else."""
        world = self.world
        device = world.device
        world.marks.hit("log:stopped")
        world.note("stopped", type(error).__name__)
        log = world.log
        assert log is not None
        is_full = isinstance(log.failed, StorageFull)
        if device.failure is None and not (device.done or is_full or world.disk.has_damage()):
            raise Broken(f"the log stopped without cause: {log.failed or error}")

    def _end(self, chance: float) -> None:
        """End a process that still runs: power lost, killed, or closed with nothing in flight."""
        world = self.world
        if chance < 0.45:
            world.lose_power()
        elif chance < 0.7:
            world.marks.hit("crash:killed")
            world.lose_power(garbage=0.0)
        else:
            if world.submitter.is_writing and world.device.failure is None:
                world.device.no_more_faults()
                world.submitter.complete()
            world.marks.hit("closed")
            world.note("closed")
            world.device.power_off()
            world.note_end()

    # ------------------------------------------------------------ between two lives

    def _at_rest(self) -> None:
        world = self.world
        if not world.is_formatted:
            return
        self._set_back()
        self._tamper()
        self._atlas.strike(world.written, world.promised_sequence)

    def _set_back(self) -> None:
        """Take a snapshot, or go back to one: what came after it is gone, and nobody can tell."""
        world, random = self.world, self._restore
        if random.random() < self.plan.rate("snapshot"):
            if self._snapshot is not None and random.random() < 0.6:
                disk, written, known, acked_op, sequence = self._snapshot
                world.disk.set_back(disk)
                world.written = written.clone()
                world.known = list(known)
                world.acked_op, world.promised_sequence = acked_op, sequence
                world.fault("fault:snapshot")
            else:
                self._snapshot = (
                    world.disk.clone(),
                    world.written.clone(),
                    list(world.known),
                    world.acked_op,
                    world.promised_sequence,
                )
        if random.random() < self.plan.rate("wipe"):
            backup = world.disk.clone()
            world.disk.wipe()
            world.fault("fault:wipe")
            world.open(with_faults=False)
            world.disk.set_back(backup)

    def _tamper(self) -> None:
        """Do what people do to directories; it is refused, and a backup put back."""
        world = self.world
        for family, names in (("structure", STRUCTURES), ("later-build", LATER)):
            if self._structure.random() >= self.plan.rate(family):
                continue
            backup = world.disk.clone()
            world.disk.heal()  # Else damage would be the reason to refuse.
            name = self._structure.choice(names)
            reason = self._tamper_with(name)
            if reason is None:
                world.disk.set_back(backup)
                continue
            world.fault(f"fault:{name}")
            world.may_format = name == "superblock-gone" and self._structure.random() < 0.5
            if world.open(with_faults=False, override=reason):
                world.device.power_off()
                world.note_end()
            else:
                world.disk.set_back(backup)
            world.may_format = False

    def _tamper_with(self, name: str) -> str | None:
        """Do one thing to a directory that would open; None if it was not possible."""
        world = self.world
        expected = forecast(world.disk, world.written)
        if expected.must_refuse or expected.may_refuse or expected.stored is None:
            return None
        if world.disk.has_damage():
            return None
        return tamper(name, world.disk, world.written, expected.stored, self._structure)

    # ------------------------------------------------------------ the end

    def _converge(self) -> None:
        """No more faults: the log opens, takes batches and keeps them."""
        world = self.world
        self._heal()
        world.note("converge")
        for _ in range(2):
            if not self._open_soundly():
                return
            self._worker.append_plainly(3)
            world.device.power_off()
            world.note_end()
        self._open_soundly()
        if world.disk.has_damage():
            world.marks.hit("end:settled-damage")

    def _open_soundly(self) -> bool:
        """Open a disk without faults; only what is beyond the atlas may keep it shut."""
        world = self.world
        for _ in range(2):
            if world.open(with_faults=False):
                return True
            self._heal()
        expected = forecast(world.disk, world.written)
        if self.plan.is_beyond and (expected.must_refuse or expected.may_refuse):
            world.marks.hit("end:stays-shut")
            return False
        raise Stuck("the faults have ended, and the log does not open")
