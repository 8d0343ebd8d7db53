"""A spare was made ready by a boot that the superblock no longer knows: nothing is opened."""

from __future__ import annotations

from random import Random

from fusee.base.errors import DirectoryRefused
from fusee.log import superblock as sb
from fusee.log.segment import spare_name
from sim.scenarios.log_play import LogPlay


def play(play: LogPlay) -> None:
    play.open()
    play.fill()
    play.fill()
    play.trim(play.log.durable_op)
    assert spare_name(1) in play.disk.names
    before = bytes(play.disk.names[sb.FILE].image)
    play.open()
    play.open()
    play.device.crash_after(1, Random(2))
    play.prepare()
    assert spare_name(1) in play.disk.names, "power was lost before the spare was renamed"
    play.disk.names[sb.FILE].put(0, before)
    for _ in range(3):  # The refusal itself is nothing that a boot may rest on.
        play.expect_refusal(DirectoryRefused)
