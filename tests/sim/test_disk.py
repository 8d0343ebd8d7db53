"""Every family of faults that the simulated disk knows, one by one."""

from __future__ import annotations

import errno
from random import Random

import pytest

from fusee.testing.device import PowerLost, SimDevice
from fusee.testing.disk import Damage, Disk, Landing, land_part

BLOCK = 4096
OLD, NEW = b"o" * 2 * BLOCK, b"n" * 2 * BLOCK


def disk_with(content: bytes = OLD) -> Disk:
    disk = Disk()
    disk.add("file", bytearray(content))
    return disk


def fresh() -> tuple[Disk, SimDevice]:
    """Return a disk with old content, and a process on it."""
    disk = disk_with()
    return disk, SimDevice(disk)


class Lowest(Random):
    """Draws the lowest number always: a write that is cut off lands nowhere."""

    def random(self) -> float:
        return 0.0


def units(disk: Disk, name: str = "file") -> list[bytes]:
    image = disk.names[name].image
    return [bytes(image[start : start + 512]) for start in range(0, len(image), 512)]


def test_nothing_of_a_write_is_durable_before_it_completes():
    device = SimDevice(disk_with())
    write = device.begin("file", 0, NEW)
    assert device.read("file", 0, 2 * BLOCK) == OLD
    device.complete(write)
    assert device.read("file", 0, 2 * BLOCK) == NEW


def test_a_write_in_flight_does_not_change_with_the_buffer_it_came_from():
    device = SimDevice(disk_with())
    buffer = device.buffer(BLOCK)
    buffer[:] = b"1" * BLOCK
    write = device.begin("file", 0, buffer)
    buffer[:] = b"2" * BLOCK
    device.complete(write)
    assert device.read("file", 0, BLOCK) == b"1" * BLOCK


def test_a_crash_lets_writes_land_in_every_way_by_whole_units():
    seen = set()
    for seed in range(200):
        disk, device = fresh()
        device.begin("file", 0, NEW)
        device.crash(Random(seed))
        ((_, _, landing),) = device.landings
        seen.add(landing)
        assert set(units(disk)) <= {OLD[:512], NEW[:512]}
        count = units(disk).count(NEW[:512])
        if landing is Landing.NOTHING:
            assert count == 0
        elif landing is Landing.ALL:
            assert count == 16
        elif landing is Landing.PREFIX:
            assert units(disk)[:count] == [NEW[:512]] * count
        assert not disk.has_damage(), "a crash alone damages nothing"
    assert seen == set(Landing)


def test_two_writes_in_flight_land_each_on_its_own():
    ends = set()
    for seed in range(100):
        device = SimDevice(disk_with())
        device.begin("file", 0, NEW[:BLOCK])
        device.begin("file", BLOCK, NEW[BLOCK:])
        device.crash(Random(seed))
        ends.add(tuple(landing for *_, landing in device.landings))
    assert (Landing.NOTHING, Landing.ALL) in ends
    assert (Landing.ALL, Landing.NOTHING) in ends


def test_a_crash_may_leave_one_unit_garbage_or_unreadable():
    kinds = set()
    for seed in range(300):
        disk = disk_with()
        land_part(disk, "file", 0, NEW, Random(seed), garbage=0.2)
        damaged = list(disk.damaged())
        assert len(damaged) <= 1
        kinds.update(how for _, _, how in damaged)
    assert kinds == {Damage.GARBAGE, Damage.UNREADABLE}


def test_after_the_crash_nothing_that_the_process_tries_has_an_effect():
    disk, device = fresh()
    device.power_off()
    for call in (
        lambda: device.write("file", 0, NEW),
        lambda: device.read("file", 0, BLOCK),
        lambda: device.create("other", [NEW]),
        lambda: device.rename("file", "other"),
        device.files,
    ):
        with pytest.raises(PowerLost):
            call()
    assert units(disk) == [OLD[:512]] * 16


def test_power_is_lost_inside_the_call_that_was_named():
    disk, device = fresh()
    device.crash_after(1, Random(1))
    device.write("file", 0, NEW[:BLOCK])
    with pytest.raises(PowerLost):
        device.write("file", BLOCK, NEW[BLOCK:])
    assert (device.is_off, device.struck) == (True, "write")
    assert units(disk)[:8] == [NEW[:512]] * 8


def test_a_crash_inside_create_leaves_the_old_file_or_the_new_one_and_a_piece_nobody_sees():
    found = set()
    for seed in range(40):
        disk, device = fresh()
        device.crash_after(0, Random(seed))
        with pytest.raises(PowerLost):
            device.create("file", [NEW])
        assert SimDevice(disk).files() == ["file"]
        found.add(bytes(disk.names["file"].image))
    assert found == {OLD, NEW}


def test_a_crash_inside_rename_leaves_one_name_or_the_other():
    found = set()
    for seed in range(40):
        disk, device = fresh()
        device.crash_after(0, Random(seed))
        with pytest.raises(PowerLost):
            device.rename("file", "other")
        found.add(tuple(disk.names))
    assert found == {("file",), ("other",)}


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_nothing_is_written_after_a_failure(code):
    disk, device = fresh()
    device.fail_after(0, Random(3), code)
    with pytest.raises(OSError, match="injected") as failed:
        device.write("file", 0, NEW)
    assert failed.value.errno == code
    before = units(disk)
    for call in (
        lambda: device.write("file", 0, NEW),
        lambda: device.create("other", [NEW]),
        lambda: device.rename("file", "other"),
    ):
        with pytest.raises(OSError, match="after a failure"):
            call()
    assert units(disk) == before


def test_a_failed_write_may_land_short_whole_or_not_at_all():
    counts = set()
    for seed in range(100):
        disk, device = fresh()
        device.fail_after(0, Random(seed))
        with pytest.raises(OSError, match="injected"):
            device.write("file", 0, NEW)
        counts.add(units(disk).count(NEW[:512]))
    assert {0, 16} < counts


def test_a_buffered_device_shows_what_a_failed_flush_did_not_write_until_the_process_ends():
    disk = disk_with()
    device = SimDevice(disk, is_buffered=True)
    device.fail_after(0, Lowest())
    with pytest.raises(OSError, match="injected"):
        device.write("file", 0, NEW)
    assert NEW[:512] not in units(disk)
    assert device.read("file", 0, 2 * BLOCK) == NEW
    device.crash(Random(1))
    assert SimDevice(disk).read("file", 0, 2 * BLOCK) == OLD


def test_a_unit_that_cannot_be_read_fails_every_read_of_it_until_it_is_written():
    disk = disk_with()
    disk.make_unreadable("file", 9)
    device = SimDevice(disk)
    assert device.read("file", 0, BLOCK) == OLD[:BLOCK]
    for start, size in ((BLOCK, BLOCK), (0, 2 * BLOCK)):
        with pytest.raises(OSError, match="unreadable"):
            device.read("file", start, size)
    device.write("file", BLOCK, NEW[:BLOCK])
    assert device.read("file", BLOCK, BLOCK) == NEW[:BLOCK]
    assert not disk.has_damage()


def test_a_bit_that_rots_stays_so_until_it_is_healed():
    disk = disk_with()
    disk.flip_bit("file", 700, 3)
    assert SimDevice(disk).read("file", 0, BLOCK)[700] == ord("o") ^ 8
    assert list(disk.damaged()) == [("file", 1, Damage.BIT_ROT)]
    assert disk.heal() == 1
    assert units(disk) == [OLD[:512]] * 16


def test_settled_damage_is_not_healed_but_what_was_unreadable_may_read_well_again():
    disk = disk_with()
    disk.garble("file", 0, Random(0))
    disk.make_unreadable("file", 1)
    garbage = units(disk)[0]
    disk.settle()
    disk.flip_bit("file", 0, 0)
    disk.heal()
    assert units(disk)[0] == garbage
    assert [unit for _, unit, _ in disk.damaged()] == [0]
    assert SimDevice(disk).read("file", 0, BLOCK)[:512] == garbage


def test_a_lost_write_is_reported_and_the_old_content_stays():
    disk, device = fresh()
    device.lose_after(0)
    device.write("file", 0, NEW)
    assert units(disk) == [OLD[:512]] * 16
    assert {how for _, _, how in disk.damaged()} == {Damage.LOST}
    disk.heal()
    assert units(disk) == [NEW[:512]] * 16


def test_a_misdirected_write_lands_elsewhere_and_is_lost_where_it_belongs():
    disk, device = fresh()
    device.misdirect_after(0, BLOCK)
    device.write("file", 0, NEW[:BLOCK])
    assert units(disk) == [OLD[:512]] * 8 + [NEW[:512]] * 8
    disk.heal()
    assert units(disk) == [NEW[:512]] * 8 + [OLD[:512]] * 8


def test_a_misdirected_read_returns_the_neighbour_once():
    disk = disk_with(OLD[:BLOCK] + NEW[:BLOCK])
    device = SimDevice(disk)
    device.misread_after(0, Random(0))
    first = device.read("file", 0, 2 * BLOCK)
    assert first in (OLD, NEW)
    assert len(device.misread) == 1
    assert device.read("file", 0, 2 * BLOCK) == OLD[:BLOCK] + NEW[:BLOCK]


def test_a_read_may_fail_once():
    device = SimDevice(disk_with())
    device.fail_read_after(0)
    with pytest.raises(OSError, match="injected"):
        device.read("file", 0, BLOCK)
    assert device.read("file", 0, BLOCK) == OLD[:BLOCK]


def test_a_clone_shares_nothing_and_a_disk_can_be_set_back_to_it():
    disk = disk_with()
    disk.make_unreadable("file", 3)
    earlier = disk.clone()
    SimDevice(disk).write("file", 0, NEW)
    disk.wipe()
    assert earlier.names["file"].unreadable == {3}
    disk.set_back(earlier)
    disk.heal()
    assert units(disk) == [OLD[:512]] * 16
    assert earlier.has_damage()


def test_a_file_may_be_cut_short_and_free_space_is_what_the_disk_says():
    disk = disk_with()
    disk.cut_short("file", 512)
    disk.free_bytes = 7
    device = SimDevice(disk)
    assert device.size("file") == 512
    assert len(device.read("file", 0, BLOCK)) == 512
    assert device.free_bytes() == 7
    assert device.size("nothing") == -1
