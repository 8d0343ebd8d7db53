"""`fusee disk-check DIR`: what this disk costs a workflow, before anything depends on it.

`check_disk` measures and returns facts; `render` makes text of them. Whether a disk keeps
what it reported as flushed cannot be found out by software, and the report says so.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from msgspec import Struct

from fusee.base.errors import DirectoryRefused
from fusee.io.calibration import choose, refuse_disk
from fusee.io.measure import (
    Rate,
    Timing,
    measure_methods,
    measure_rate,
    remove_abandoned,
    scratch_directory,
)
from fusee.io.methods import Method, candidate_methods
from fusee.io.mounts import Disk, Mount, find_disk, find_mount

_BUDGET_NS = 10_000_000_000
# Nothing on these outlives the machine's power, however "durable" a write is.
_MEMORY_FILE_SYSTEMS = ("tmpfs", "ramfs", "devtmpfs")


class DiskReport(Struct, frozen=True):
    """All that a disk check found out; also the JSON of `fusee disk-check -o json`."""

    directory: str
    mount: Mount
    disk: Disk | None
    timings: tuple[Timing, ...]
    chosen: Method
    two_in_flight: Rate
    is_memory: bool


def check_disk(directory: Path, *, writes: int = 1000) -> DiskReport:
    """Measure a directory's disk. Leaves nothing behind. Raises DirectoryRefused."""
    _check_usable(directory)
    try:
        remove_abandoned(directory)
        with scratch_directory(directory) as scratch:
            timings = measure_methods(
                scratch, candidate_methods(), writes=writes, budget_ns=_BUDGET_NS
            )
            chosen = choose(timings)
            if chosen is None:
                raise refuse_disk(directory, timings)
            rate = measure_rate(
                scratch, chosen.method, in_flight=2, writes=writes, budget_ns=_BUDGET_NS
            )
    except OSError as error:
        raise DirectoryRefused(
            f"{directory}: measuring failed ({error.strerror}); free some space or make the"
            " directory writable for this user"
        ) from error
    mount = find_mount(directory)
    return DiskReport(
        directory=str(directory),
        mount=mount,
        disk=find_disk(directory),
        timings=tuple(timings),
        chosen=chosen.method,
        two_in_flight=rate,
        is_memory=mount.fs_type in _MEMORY_FILE_SYSTEMS,
    )


def render(report: DiskReport) -> str:
    """Return the report as people read it."""
    width = max(len(timing.method.label) for timing in report.timings)
    lines = [f"{report.directory}  {report.mount.fs_type} on {_disk_name(report)}"]
    for timing in report.timings:
        label = timing.method.label.ljust(width)
        mark = "    ← will be used" if timing.method is report.chosen else ""
        lines.append(f"  {label}    {_times(timing)}{mark}")
    rate = report.two_in_flight
    speed = rate.error or f"{_grouped(round(rate.writes_per_s))} writes/s"
    lines.append(f"  {'two in flight'.ljust(width)}    {speed}")
    if report.is_memory:
        lines.append("  this is memory: everything in it is gone when the machine stops")
    else:
        protection = report.disk.power_loss_protection if report.disk else "unknown"
        lines.append(
            "  reordered or lost after flush: not testable in software;"
            f" power-loss protection reported: {protection}"
        )
    return "\n".join(lines) + "\n"


def _check_usable(directory: Path) -> None:
    if sys.platform == "win32":
        raise refuse_disk(directory, ())
    if not directory.exists():
        raise DirectoryRefused(
            f"{directory} does not exist; make it first (mkdir -p {directory}) or name one"
            " on the disk you want to check"
        )
    if not directory.is_dir():
        raise DirectoryRefused(f"{directory} is a file; name a directory on the disk to check")
    if not os.access(directory, os.W_OK | os.X_OK):
        raise DirectoryRefused(
            f"{directory} is not writable for user {os.geteuid()}; measuring needs to write: make"
            " it writable, or run this as the user that will run the engine"
        )


def _disk_name(report: DiskReport) -> str:
    if report.is_memory:
        return "memory"
    if report.disk is None:
        return f"{report.mount.source}  unknown disk"
    return f"{report.disk.name}  {report.disk.model}"


def _times(timing: Timing) -> str:
    if timing.error:
        return f"not usable here: {timing.error}"
    return f"p50 {_duration(timing.p50_ns)}   p99 {_duration(timing.p99_ns)}"


def _duration(time_ns: int) -> str:
    if time_ns < 999_500:
        time_us = time_ns / 1000
        text = f"{time_us:.1f}" if time_us < 100 else f"{time_us:.0f}"
        return f"{text:>6} µs"
    return f"{time_ns / 1e6:>6.1f} ms"


def _grouped(number: int) -> str:
    return f"{number:,}".replace(",", " ")
