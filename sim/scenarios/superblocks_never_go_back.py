"""One copy of the superblock was never written, and three say more: those three count."""

from __future__ import annotations

from fusee.log import superblock as sb
from sim.scenarios.log_play import LogPlay


def play(play: LogPlay) -> None:
    play.open()
    play.append()
    before = play.disk.names[sb.FILE].unit(0)
    play.open()
    play.disk.lose(sb.FILE, 0, before)
    play.open()
    play.append()
    play.open()
