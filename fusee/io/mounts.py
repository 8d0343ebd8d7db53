"""What lies under a directory: its file system, and the disk as far as the system tells.

Everything here is for people and for caution (an identity to compare, a name to print); no
byte on disk depends on it. Where the system says nothing we say "unknown", never a guess.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Literal

from msgspec import Struct

PowerLossProtection = Literal["yes", "no", "unknown"]

_OCTAL = re.compile(r"\\([0-7]{3})")
_SYS_BLOCK = Path("/sys/dev/block")


class Mount(Struct, frozen=True):
    """The file system a path is on; `fs_type` is "unknown" where the system does not tell."""

    mount_point: str
    fs_type: str
    source: str
    options: str = ""


class Disk(Struct, frozen=True):
    """The block device under a file system."""

    name: str
    model: str
    power_loss_protection: PowerLossProtection


UNKNOWN_MOUNT = Mount(mount_point="", fs_type="unknown", source="unknown")


def find_mount(path: Path) -> Mount:
    """Return the mount that a path is on."""
    if sys.platform != "linux":
        return UNKNOWN_MOUNT
    try:
        text = Path("/proc/self/mountinfo").read_text()
    except OSError:
        # Some sandboxes hide /proc; that is no reason not to run there.
        return UNKNOWN_MOUNT
    return mount_of(os.path.realpath(path), parse_mountinfo(text))


def mount_of(path: str, mounts: list[Mount]) -> Mount:
    """Return the mount with the longest matching mount point; the last of equals hides the rest."""
    found = UNKNOWN_MOUNT
    for mount in mounts:
        is_under = mount.mount_point in ("/", path) or path.startswith(mount.mount_point + "/")
        if is_under and len(mount.mount_point) >= len(found.mount_point):
            found = mount
    return found


def parse_mountinfo(text: str) -> list[Mount]:
    """Parse /proc/self/mountinfo (proc(5)); lines of another form are left out."""
    mounts: list[Mount] = []
    for line in text.splitlines():
        before, separator, after = line.partition(" - ")
        fields, rest = before.split(" "), after.split(" ")
        if not separator or len(fields) < 6 or len(rest) < 2:
            continue
        options = ",".join([fields[5], *rest[2:3]])
        mounts.append(Mount(_unescape(fields[4]), rest[0], _unescape(rest[1]), options))
    return mounts


def find_disk(path: Path) -> Disk | None:
    """Return the disk under a path, None where there is none of our own to see.

    tmpfs, overlay and network file systems have device numbers without a block device.
    """
    if sys.platform != "linux":
        return None
    device = os.stat(path).st_dev
    return disk_at(_SYS_BLOCK / f"{os.major(device)}:{os.minor(device)}")


def disk_at(entry: Path) -> Disk | None:
    """Read a sysfs entry of a block device, following partitions and simple stacks down."""
    if not entry.exists():
        return None
    block = entry.resolve()
    if (block / "partition").exists():
        block = block.parent
    below = sorted((block / "slaves").glob("*"))
    # LVM and dm-crypt on one disk: the disk is what can lose power. Of several disks there is
    # no one answer.
    if len(below) == 1:
        return disk_at(below[0])
    name = block.name
    cache = _read(block / "queue" / "write_cache")
    return Disk(
        name=name,
        model=_read(block / "device" / "model") or _kind(block),
        power_loss_protection=_protection(name, cache, stacked=bool(below)),
    )


def _protection(name: str, cache: str, *, stacked: bool) -> PowerLossProtection:
    # Physical disks tell whether they have a volatile cache; one without has nothing to lose
    # when power goes. What a virtual disk says describes its host's settings, not the hardware.
    if stacked or not name.startswith(("nvme", "sd")):
        return "unknown"
    if cache == "write through":
        return "yes"
    return "no" if cache == "write back" else "unknown"


def _kind(block: Path) -> str:
    name = block.name
    driver = (block / "device" / "driver").resolve().name
    if driver.startswith("virtio") or name.startswith("vd"):
        return "virtio"
    for prefix, kind in (("xvd", "Xen"), ("loop", "loop device"), ("md", "software RAID")):
        if name.startswith(prefix):
            return kind
    return "unknown model"


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        # Not every disk has every file.
        return ""


def _unescape(text: str) -> str:
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), text)
