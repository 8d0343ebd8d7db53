"""Where a run happened, and whether the machine was quiet enough for ratios to mean anything."""

from __future__ import annotations

import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

from bench.raw import RawWrites
from bench.stats import p50, p99, us
from fusee.io.mounts import find_disk, find_mount

IN_MEMORY = ("tmpfs", "ramfs", "devtmpfs")
FOREIGN_MAX = 0.15
"""Above this share of the CPUs used by others, ratios lie: a process that wakes from a flush
waits for its turn, and that wait is counted as ours."""


class NotADisk(Exception):
    """Nothing on this file system survives the power, so no flush of it means anything."""


def check_disk(directory: Path) -> None:
    """Raise `NotADisk` with what to do."""
    mount = find_mount(directory)
    if mount.fs_type in IN_MEMORY:
        raise NotADisk(
            f"{directory} is on {mount.fs_type}, which is memory: a flush there costs nothing and "
            "every ratio would be wrong. Name a directory on a real disk: "
            "python -m bench --dir /var/tmp"
        )


class CpuShare:
    """How much of all CPUs others used between two looks."""

    def __init__(self) -> None:
        self._begun = _cpu_s()
        self._ours = _our_cpu_s()

    def foreign(self) -> float:
        """The share since the beginning, 0 where the system does not tell."""
        (busy, total), (busy_then, total_then) = _cpu_s(), self._begun
        if total <= total_then:
            return 0.0
        ours = _our_cpu_s() - self._ours
        return max(0.0, busy - busy_then - ours) / (total - total_then)


def _cpu_s() -> tuple[float, float]:
    """Seconds in which CPUs were busy, and all seconds of all CPUs."""
    try:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    except OSError:
        return 0.0, 0.0
    numbers = [int(text) for text in fields]
    tick = os.sysconf("SC_CLK_TCK")
    idle = numbers[3] + numbers[4]
    return (sum(numbers) - idle) / tick, sum(numbers) / tick


def _our_cpu_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def describe(directory: Path) -> dict[str, Any]:
    """What a reader of the figures must know."""
    share = CpuShare()
    time.sleep(0.3)
    mount, disk = find_mount(directory), find_disk(directory)
    foreign = share.foreign()
    with RawWrites(directory) as raw:
        took = raw.write(500)
    return {
        "python": f"{platform.python_implementation()} {sys.version.split()[0]}",
        "cpu": f"{os.cpu_count()} x {_cpu_name()}",
        "system": f"{platform.system()} {platform.release()}",
        "file_system": f"{mount.fs_type} on {mount.source} ({mount.options})",
        "disk": disk.model if disk is not None else "unknown",
        "raw_method": raw.method,
        "raw_p50_us": p50(took) / 1000,
        "raw_p99_us": p99(took) / 1000,
        "load_average": list(os.getloadavg()),
        "foreign_cpu_before": foreign,
        "taken_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _cpu_name() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if "model name" in line]
    return names[0] if names else platform.machine()


def header(facts: dict[str, Any]) -> str:
    """The facts as people read them."""
    load = " ".join(f"{value:.2f}" for value in facts["load_average"])
    return "\n".join(
        [
            f"{facts['python']}, {facts['cpu']}, {facts['system']}",
            f"{facts['file_system']}, disk: {facts['disk']}",
            f"raw durable 4 KiB write ({facts['raw_method']}): "
            f"p50 {us(facts['raw_p50_us'] * 1000)}, p99 {us(facts['raw_p99_us'] * 1000)}",
            f"load average {load}, others use {facts['foreign_cpu_before']:.0%} of the CPUs",
        ]
    )


def warning(foreign: float, load: float) -> str:
    """What to say of a busy machine, nothing of a quiet one."""
    if foreign <= FOREIGN_MAX and load <= (os.cpu_count() or 1) * 0.75:
        return ""
    return (
        f"WARNING: the machine is busy (load {load:.1f}, others use {foreign:.0%} of the CPUs). "
        "Ratios lie then:\nwho wakes from a flush waits for a CPU. Measure again when it is quiet."
    )
