"""A superblock that went back by one boot does not know who wrote the last batch: it is refused."""

from __future__ import annotations

from fusee.base.errors import DirectoryRefused
from fusee.log import superblock as sb
from sim.scenarios.log_play import LogPlay


def play(play: LogPlay) -> None:
    play.open()
    play.append()
    before = bytes(play.disk.names[sb.FILE].image)
    play.open()
    play.append()
    play.disk.names[sb.FILE].put(0, before)
    play.expect_refusal(DirectoryRefused)
