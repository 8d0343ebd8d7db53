"""Reading a directory that nobody has open: no lock, no repair, not one byte changed.

The log is scanned by the same code that opens it, so a torn tail is no obstacle and lost data
is an error with positions. Since no lock is taken, an engine may open the directory
meanwhile; its first act is to write the superblock, and that is how it is noticed.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING

import msgspec

from fusee.base.errors import DirectoryRefused, EngineError
from fusee.engine.recovery import Recovery
from fusee.engine.table import RunTable
from fusee.io.directory import check_platform
from fusee.io.file_device import FileDevice
from fusee.io.log_files import read_copies
from fusee.io.methods import candidate_methods
from fusee.log import superblock as sb
from fusee.log.scan import LogScan
from fusee.log.segment import segment_name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class NoFuseeDirectory(DirectoryRefused):
    """There is nothing of Fusee at this path."""


class DirectoryChanged(EngineError):
    """An engine opened the directory while it was read; ask that engine."""


class OfflineDirectory(msgspec.Struct, frozen=True):
    """What a directory holds. `reports` are lines that an operator must see."""

    table: RunTable
    reports: tuple[str, ...] = ()


def check_directory(path: Path) -> None:
    """Raise `NoFuseeDirectory` unless there is one, `DirectoryRefused` when it cannot be read."""
    check_platform(path)
    try:
        names = os.listdir(path)
    except FileNotFoundError:
        raise NoFuseeDirectory(
            f"{path} does not exist; name the engine's directory (--dir or FUSEE_DIR)"
        ) from None
    except OSError as error:
        raise _refusal(path, error) from error
    if sb.FILE not in names:
        raise NoFuseeDirectory(
            f"{path} is not a Fusee directory: there is no {sb.FILE}; name the engine's directory"
            " (--dir or FUSEE_DIR)"
        )
    try:
        os.close(os.open(path / sb.FILE, os.O_RDONLY))
    except OSError as error:
        raise _refusal(path, error) from error


def read_directory(path: Path) -> OfflineDirectory:
    """Return the runs of a directory.

    Raises `NoFuseeDirectory`, `DirectoryRefused`, `AcknowledgedDataLost`, and
    `DirectoryChanged` when an engine was faster; then nothing read here may be believed.
    """
    check_directory(path)
    try:
        device = FileDevice(path, candidate_methods()[0], 0)
    except OSError as error:
        raise _refusal(path, error) from error
    try:
        copies = read_copies(device)
        try:
            found = _read(device, copies)
        except (EngineError, OSError) as error:
            _check_unchanged(path, device, copies)
            if isinstance(error, OSError):
                raise _refusal(path, error) from error
            raise
        _check_unchanged(path, device, copies)
        return found
    finally:
        device.close()


def _read(device: FileDevice, copies: Sequence[bytes | None]) -> OfflineDirectory:
    stored = sb.choose(copies)
    superblock = stored.superblock
    recovery = Recovery(superblock.shard_count)
    bad = sb.repair_order(copies, stored)
    reports = [f"superblock: copies {bad} are bad; the next open rewrites them"] if bad else []
    if not superblock.boot_count and device.size(segment_name(superblock.base.segment)) < 0:
        return OfflineDirectory(recovery.finish(), tuple(reports))  # Formatted, never used.
    scan = LogScan(device.read, device.files(), superblock)
    for batch in scan.batches():
        recovery.apply(batch)
    if scan.end.report:
        reports.append(scan.end.report)
    return OfflineDirectory(recovery.finish(), tuple(reports))


def _check_unchanged(path: Path, device: FileDevice, copies: Sequence[bytes | None]) -> None:
    if read_copies(device) != copies:
        raise DirectoryChanged(f"{path} was opened by an engine while it was read")


def _refusal(path: Path, error: OSError) -> DirectoryRefused:
    if error.errno in (errno.EACCES, errno.EPERM):
        who = f"user {os.geteuid()}" if sys.platform != "win32" else "this user"
        advice = f"no permission for {who}; run this as the owner of the directory"
    elif error.errno == errno.ENOTDIR:
        advice = "it is not a directory; name the engine's directory (--dir or FUSEE_DIR)"
    else:
        advice = error.strerror or str(error)
    return DirectoryRefused(f"{error.filename or path} cannot be read: {advice}")
