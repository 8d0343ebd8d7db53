"""What lies under a directory is read from the system, and unknown stays unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from fusee.io.mounts import Disk, disk_at, find_mount, mount_of, parse_mountinfo

MOUNTINFO = r"""
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
40 27 259:1 / /data/my\040disk rw,noatime - xfs /dev/nvme1n1p1 rw,attr2
41 27 0:44 / /home rw,relatime - nfs4 server:/export/home rw,vers=4.2
42 27 0:45 / /home rw,relatime - tmpfs hidden rw
a line of a future kernel
""".strip()


@pytest.mark.parametrize(
    ("path", "fs_type", "source"),
    [
        ("/var/fusee", "ext4", "/dev/vda"),
        ("/", "ext4", "/dev/vda"),
        ("/data/my disk/fusee", "xfs", "/dev/nvme1n1p1"),
        ("/data/my disk", "xfs", "/dev/nvme1n1p1"),
        ("/data/my disk too", "ext4", "/dev/vda"),
        ("/home/ann", "tmpfs", "hidden"),
    ],
)
def test_the_innermost_and_newest_mount_counts(path, fs_type, source):
    mount = mount_of(path, parse_mountinfo(MOUNTINFO))
    assert (mount.fs_type, mount.source) == (fs_type, source)


def test_without_mounts_everything_is_unknown():
    assert mount_of("/x", []).fs_type == "unknown"


def test_a_path_that_does_not_exist_yet_is_on_its_parents_mount(tmp_path):
    assert find_mount(tmp_path / "not" / "there") == find_mount(tmp_path)


def make_block(
    root: Path, name: str, *, model: str = "", cache: str = "", driver: str = ""
) -> Path:
    block = root / name
    (block / "queue").mkdir(parents=True)
    (block / "device").mkdir()
    if model:
        (block / "device" / "model").write_text(model + "   \n")
    if cache:
        (block / "queue" / "write_cache").write_text(cache + "\n")
    if driver:
        (root / driver).mkdir()
        (block / "device" / "driver").symlink_to(root / driver)
    return block


@pytest.mark.parametrize(
    ("name", "cache", "protection"),
    [
        ("nvme1n1", "write through", "yes"),
        ("nvme1n1", "write back", "no"),
        ("sda", "write back", "no"),
        ("sda", "", "unknown"),
        ("sda", "something new", "unknown"),
        ("vda", "write through", "unknown"),
    ],
)
def test_only_physical_disks_vouch_for_themselves(tmp_path, name, cache, protection):
    make_block(tmp_path, name, model="M", cache=cache)
    assert disk_at(tmp_path / name) == Disk(name, "M", protection)


def test_a_partition_is_reported_as_its_disk(tmp_path):
    disk = make_block(tmp_path, "nvme0n1", model="Fast One", cache="write through")
    (disk / "nvme0n1p2").mkdir()
    (disk / "nvme0n1p2" / "partition").write_text("2\n")
    assert disk_at(disk / "nvme0n1p2") == Disk("nvme0n1", "Fast One", "yes")


def test_a_mapped_disk_is_reported_as_the_one_below(tmp_path):
    disk = make_block(tmp_path, "sda", model="Below", cache="write back")
    mapped = make_block(tmp_path, "dm-0")
    (mapped / "slaves").mkdir()
    (mapped / "slaves" / "sda").symlink_to(disk)
    assert disk_at(mapped) == Disk("sda", "Below", "no")


def test_of_several_disks_below_none_speaks_for_all(tmp_path):
    array = make_block(tmp_path, "md0", cache="write through")
    (array / "slaves").mkdir()
    for name in ("sda", "sdb"):
        (array / "slaves" / name).symlink_to(make_block(tmp_path, name))
    assert disk_at(array) == Disk("md0", "software RAID", "unknown")


def test_a_virtual_disk_is_called_what_it_is(tmp_path):
    block = make_block(tmp_path, "vda", cache="write through", driver="virtio_blk")
    assert disk_at(block) == Disk("vda", "virtio", "unknown")


def test_without_a_block_device_there_is_no_disk(tmp_path):
    assert disk_at(tmp_path / "0:27") is None
