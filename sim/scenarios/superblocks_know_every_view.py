"""A superblock that went back by one view does not know that of a torn frame: it is refused."""

from __future__ import annotations

from fusee.base.errors import DirectoryRefused
from fusee.log import superblock as sb
from sim.scenarios.log_play import LogPlay


def play(play: LogPlay) -> None:
    play.open()
    play.append()
    before = bytes(play.disk.names[sb.FILE].image)
    play.lead()
    play.tear(0, 1)
    play.append(5_000)
    play.disk.names[sb.FILE].put(0, before)
    play.expect_refusal(DirectoryRefused)
