"""The device of a directory, as an engine opens it."""

from __future__ import annotations

from pathlib import Path

from fusee.io.calibration import calibrate
from fusee.io.file_device import FileDevice


def open_device(directory: Path) -> FileDevice:
    calibration = calibrate(directory)
    return FileDevice(directory, calibration.method, calibration.flush_ns)
