"""Which write method is fastest on this disk: measured once, remembered in the directory.

The answer decides speed, never safety: every candidate is durable. It is measured anew when
the directory's disk, file system or kernel changes, and whenever calibration.json is not
byte for byte something this version wrote.

A busy machine can make a fast disk look slow for as long as a measurement takes
(seen: 4 ms instead of 90 us while others took the CPUs), and never a slow one fast. So a
slow result is measured again at the next opens, three times in all, and the fastest is kept.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from fusee.base.checksum import hash128
from fusee.base.errors import DirectoryRefused
from fusee.io.measure import Timing, measure_methods, remove_abandoned, scratch_directory
from fusee.io.methods import Method, candidate_methods
from fusee.io.mounts import find_mount
from fusee.io.naming import create_file
from fusee.io.submit_mode import FLUSH_NS_INLINE_MAX

if TYPE_CHECKING:
    from collections.abc import Sequence

CALIBRATION_FILE = "calibration.json"
FORMAT = 1
_WRITES = 200
_BUDGET_NS = 120_000_000
_MEASUREMENTS_MAX = 3
_FILE_BYTES_MAX = 64 * 1024
# The preferred method stays unless another is faster by this much: below it the difference is
# noise, and O_DIRECT has the kinder failures (after a failed buffered flush the directory
# cannot be opened again in the same process).
_WORTH_CHANGING = 0.8

_logger = logging.getLogger("fusee.io")


class DiskIdentity(Struct, frozen=True, forbid_unknown_fields=True):
    """What a measurement was made on. Another identity, another measurement."""

    kernel: str
    fs_type: str
    source: str
    device: str
    fs_id: int


class Calibration(Struct, frozen=True, forbid_unknown_fields=True):
    """The method to use and what one 4 KiB durable write takes with it."""

    format: int
    method: Method
    flush_ns: int
    identity: DiskIdentity
    timings: tuple[Timing, ...]
    measurements: int
    check: str
    """blake2b-128 over the file with this field empty."""


def calibrate(directory: Path) -> Calibration:
    """Return what is remembered about this directory's disk, or measure it and remember.

    What a measurement left that was killed, here or in `fusee disk-check`, is removed first.
    """
    try:
        for name in remove_abandoned(directory):
            _logger.info("%s: removed %s, which a killed measurement left", directory, name)
        identity = identify_disk(directory)
        remembered = recall(directory, identity)
        if isinstance(remembered, Calibration):
            if not is_doubtful(remembered):
                return remembered
            calibration = faster(remembered, _measure(directory, identity))
            why = "it was slow the last time"
        else:
            calibration = _measure(directory, identity)
            why = remembered
        _remember(directory, calibration)
    except OSError as error:
        raise DirectoryRefused(
            f"{directory}: measuring the disk failed ({error.strerror}); free some space or"
            " repair the disk, and open it again"
        ) from error
    _logger.info(
        "%s: %s, flush p50 %.1f us; measured because %s",
        directory,
        calibration.method.label,
        calibration.flush_ns / 1000,
        why,
    )
    return calibration


def recall(directory: Path, identity: DiskIdentity) -> Calibration | str:
    """Return the remembered calibration, or why there is none that can be trusted."""
    try:
        with (directory / CALIBRATION_FILE).open("rb") as file:
            data = file.read(_FILE_BYTES_MAX)
    except FileNotFoundError:
        return "it was not measured before"
    try:
        calibration = msgspec.json.decode(data, type=Calibration)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return f"{CALIBRATION_FILE} is damaged or of another version"
    if calibration.format != FORMAT or encode(calibration) != data:
        return f"{CALIBRATION_FILE} is damaged or of another version"
    if calibration.identity != identity:
        return "the directory has moved to another disk, or the kernel has changed"
    if calibration.method not in candidate_methods():
        return f"{calibration.method} does not exist here"
    return calibration


def is_doubtful(calibration: Calibration) -> bool:
    """Return whether a result may be a neighbour's fault and is worth another measurement."""
    is_slow = calibration.flush_ns > FLUSH_NS_INLINE_MAX
    return is_slow and calibration.measurements < _MEASUREMENTS_MAX


def faster(old: Calibration, new: Calibration) -> Calibration:
    """Return the better of two results for one disk, counting both as measured."""
    best = new if new.flush_ns < old.flush_ns else old
    return msgspec.structs.replace(best, measurements=old.measurements + new.measurements)


def encode(calibration: Calibration) -> bytes:
    """Return the bytes of calibration.json, with the check filled in."""
    unchecked = msgspec.structs.replace(calibration, check="")
    check = hash128(msgspec.json.encode(unchecked)).hex()
    data = msgspec.json.encode(msgspec.structs.replace(calibration, check=check))
    return msgspec.json.format(data, indent=2) + b"\n"


def choose(timings: Sequence[Timing]) -> Timing | None:
    """Return the method to use; timings come in order of preference. None: no method works."""
    usable = [timing for timing in timings if not timing.error]
    if not usable:
        return None
    fastest = min(usable, key=lambda timing: timing.p50_ns)
    preferred = usable[0]
    return fastest if fastest.p50_ns < preferred.p50_ns * _WORTH_CHANGING else preferred


def identify_disk(directory: Path) -> DiskIdentity:
    """Tell this disk, file system and kernel from others."""
    mount = find_mount(directory)
    device = os.stat(directory).st_dev
    return DiskIdentity(
        kernel=" ".join(os.uname()[i] for i in (0, 2)),
        fs_type=mount.fs_type,
        source=mount.source,
        device=f"{os.major(device)}:{os.minor(device)}",
        fs_id=os.statvfs(directory).f_fsid,
    )


def refuse_disk(directory: Path, timings: Sequence[Timing]) -> DirectoryRefused:
    """Return the error for a file system on which nothing can be made durable."""
    if not timings:
        return DirectoryRefused(f"opening a directory is not supported on {sys.platform}")
    reasons = "; ".join(f"{timing.method.label}: {timing.error}" for timing in timings)
    return DirectoryRefused(
        f"{directory}: no way of writing durably works on this file system ({reasons});"
        " use a directory on a local disk"
    )


def _measure(directory: Path, identity: DiskIdentity) -> Calibration:
    with scratch_directory(directory) as scratch:
        timings = measure_methods(
            scratch, candidate_methods(), writes=_WRITES, budget_ns=_BUDGET_NS
        )
    chosen = choose(timings)
    if chosen is None:
        raise refuse_disk(directory, timings)
    return Calibration(FORMAT, chosen.method, chosen.p50_ns, identity, tuple(timings), 1, "")


def _remember(directory: Path, calibration: Calibration) -> None:
    dir_fd = os.open(directory, os.O_RDONLY)
    try:
        create_file(dir_fd, CALIBRATION_FILE, [encode(calibration)])
    finally:
        os.close(dir_fd)
