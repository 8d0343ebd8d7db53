"""Putting an engine together: a directory (or memory), its log, its replica, its core.

This is the only place that knows which of the modes it is; everything else sees one replica
on some storage.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fusee.base.checksum import NO_HASH
from fusee.base.errors import DirectoryRefused
from fusee.base.ids import BatchHash, Epoch, OpNumber, View
from fusee.base.limits import SHARD_COUNT
from fusee.embed.beside import StillWorking, beside
from fusee.engine.recovery import Recovery
from fusee.io.calibration import calibrate
from fusee.io.directory import Directory
from fusee.io.file_device import FileDevice
from fusee.io.file_log import FileLog
from fusee.io.log_files import NewGroup
from fusee.io.submitter import Submitter
from fusee.io.surroundings import thread_aside
from fusee.log.superblock import BatchId
from fusee.node.local_node import LocalNode
from fusee.node.memory_log import MemoryLog
from fusee.vr.ready import Ready
from fusee.vr.restart import on_recovered, on_view_persisted
from fusee.vr.state import ReplicaState, ReplicaStatus

if TYPE_CHECKING:
    from fusee.base.clock import Clock
    from fusee.engine.table import RunTable
    from fusee.io.surroundings import Aside
    from fusee.log.device import Device
    from fusee.log.segment import SegmentSizes

Wake = Callable[[Callable[[], None]], object]
"""Runs a function on the owner's loop, from any thread."""
Assemble = Callable[["Clock", Wake], "Assembly | Awaitable[Assembly]"]
"""How an engine gets what lies below its core."""
RunAside = Callable[[Callable[[], None], str], "Aside"]
"""Does work beside the loop."""

MakeSubmitter = Callable[["Device", Wake, "Clock"], Submitter]
"""How an engine gets its way to the disk."""

LOGGER = logging.getLogger("fusee")
SEAL_FAST_S = 0.002
SEAL_SLOW_S = 0.050
FAST_FLUSH_NS = 300_000
CLOCK_BEHIND_S = 5.0
"""How far a clock may be set back without a word."""


@dataclass(slots=True)
class Assembly:
    """The parts of one open engine below its core."""

    node: LocalNode
    table: RunTable
    seal_delay_s: float
    reports: tuple[str, ...]
    directory: Directory | None = None
    device: Device | None = None
    submitter: Submitter | None = None
    log: FileLog | None = None

    def distrust(self) -> None:
        """The log has stopped: nobody knows what the disk holds."""
        _distrust(self.directory, self.device)

    def release(self) -> None:
        """Let go of the device and the directory, unless a write may still hang in the system."""
        hangs = self.submitter is not None and not self.submitter.close()
        if self.device is not None and not hangs:
            self.device.close()
        if self.directory is not None:
            if hangs:
                self.directory.withhold_release("a write has not returned")
            self.directory.release()


def assemble_memory(clock: Clock, wake: Wake) -> Assembly:
    """A replica whose writes complete at once; nothing of it survives."""
    group_id = os.urandom(16)
    state = _state(group_id, view=0, head_op=0, head_hash=NO_HASH, ts_us=0)
    ready = Ready()
    on_recovered(state, ready)
    on_view_persisted(state)
    recovery = Recovery(SHARD_COUNT)
    return Assembly(LocalNode(state, MemoryLog(), clock), recovery.table, SEAL_SLOW_S, ())


async def assemble_directory(
    path: Path, clock: Clock, wake: Wake, *, run_aside: RunAside = thread_aside
) -> Assembly:
    """Open a directory: lock, device, log, recovered runs, and the view this process leads.

    Measuring a disk takes half a second the first time, which the application need not wait for.

    Raises `DirectoryLocked`, `DirectoryRefused`, `AcknowledgedDataLost`; nothing is held then,
    nor after a cancellation.
    """
    directory = Directory.acquire(path)
    device: FileDevice | None = None
    try:
        calibration = await beside(lambda: calibrate(path), "fusee-calibration", run_aside, wake)
        device = FileDevice(path, calibration.method, calibration.flush_ns)
        for name in device.remove_unfinished():
            LOGGER.info("%s: removed %s, which a crash left half made", path, name)
        assembly = assemble_on(device, directory, clock, wake, reads_ahead=True)
        assert assembly.log is not None
        # Now, while it may fail without harm: later it would be the first write that fails.
        device.open_to_write(assembly.log.file)
        return assembly
    except BaseException as error:
        if isinstance(error, StillWorking):
            directory.withhold_release("a measurement of its disk has not returned")
        abandon(directory, device)
        if isinstance(error, OSError):
            raise _refusal(path, error) from error
        if isinstance(error, StillWorking):
            raise asyncio.CancelledError from error
        raise


def abandon(directory: Directory, device: FileDevice | None) -> None:
    """Let go of a directory that could not be opened, unless this process must not try again."""
    if device is not None:
        if device.failure is not None:
            _distrust(directory, device)
        device.close()
    directory.release()


def _distrust(directory: Directory | None, device: Device | None) -> None:
    """Keep the lock until this process ends where the page cache may show what is not on disk."""
    if directory is not None and getattr(device, "is_buffered", False):
        directory.withhold_release("a write failed on a buffered device")


def _refusal(path: Path, error: OSError) -> DirectoryRefused:
    """A disk that is full or fails while a directory is opened; opening again repeats it all."""
    advice = "see to the disk"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        advice = "free some space"
    elif error.errno in (errno.EMFILE, errno.ENFILE):
        advice = "raise the limit on open files (ulimit -n)"
    return DirectoryRefused(
        f"{path} cannot be opened: {error.strerror or error}; {advice}, and open it again"
    )


def assemble_on(
    device: Device,
    directory: Directory | None,
    clock: Clock,
    wake: Wake,
    *,
    sizes: SegmentSizes | None = None,
    make_submitter: MakeSubmitter = Submitter,
    reads_ahead: bool = False,
    entropy: Callable[[int], bytes] = os.urandom,
) -> Assembly:
    """Recover the log on a device and lead a new view of its group of one."""
    submitter = make_submitter(device, wake, clock)
    recovery = Recovery(SHARD_COUNT)
    fresh = NewGroup(group_id=entropy(16), incarnation=entropy(16), shard_count=SHARD_COUNT)
    recovered = FileLog.open(
        device,
        submitter=submitter,
        on_batch=recovery.apply,
        now_us=clock.wall_us(),
        format_new=fresh,
        sizes=sizes,
        reads_ahead=reads_ahead,
    )
    log = recovered.log
    fast = 0 < device.flush_ns <= FAST_FLUSH_NS
    return Assembly(
        LocalNode(_lead_new_view(log, recovered.ts_us), log, clock),
        recovery.finish(),
        SEAL_FAST_S if fast else SEAL_SLOW_S,
        (*recovered.reports, *_clock_reports(recovered.ts_us, clock)),
        directory,
        device,
        submitter,
        log,
    )


def _clock_reports(ts_us: int, clock: Clock) -> tuple[str, ...]:
    """Say that the time of runs is ahead of the clock: dates come early and waits last longer."""
    behind_s = (ts_us - clock.wall_us()) / 1e6
    if behind_s < CLOCK_BEHIND_S:
        return ()
    return (
        f"the wall clock is {behind_s:,.0f} s behind the newest record of the log: it was set back,"
        " or ran ahead before. Time goes on from that record, 1/16 slower, until it has caught up;"
        " what waits for a date ends early by as much",
    )


def _lead_new_view(log: FileLog, ts_us: int) -> ReplicaState:
    """Return a state that leads the view after the stored one, once that view is on disk."""
    superblock = log.superblock
    state = _state(
        superblock.group_id,
        view=superblock.view,
        head_op=log.head_op,
        head_hash=log.head_hash,
        ts_us=ts_us,
    )
    ready = Ready()
    on_recovered(state, ready)
    assert ready.persist_view
    vouch = BatchId(log.head_op, log.head_hash)
    log.save_superblock(
        msgspec.structs.replace(superblock, view=state.view, log_view=state.log_view, vouch=vouch)
    )
    on_view_persisted(state)
    return state


def _state(
    group_id: bytes, *, view: int, head_op: int, head_hash: bytes, ts_us: int
) -> ReplicaState:
    return ReplicaState(
        group_id=group_id,
        slot=0,
        member_count=1,
        epoch=Epoch(0),
        view=View(view),
        log_view=View(view),
        status=ReplicaStatus.RECOVERING,
        head_op=OpNumber(head_op),
        head_hash=BatchHash(head_hash),
        head_ts_us=ts_us,
        commit_op=OpNumber(head_op),
        durable={0: OpNumber(head_op)},
    )
