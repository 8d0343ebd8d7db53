"""Three copies of the superblock are gone: the one that is left is not believed."""

from __future__ import annotations

from random import Random

from fusee.base.limits import UNIT_SIZE
from fusee.log import superblock as sb
from sim.scenarios.log_play import LogPlay


def play(play: LogPlay) -> None:
    play.open()
    play.append()
    random = Random(1)
    for copy in (0, 1, 3):
        play.disk.garble(sb.FILE, sb.copy_offset(copy) // UNIT_SIZE, random)
    play.expect_refusal(sb.SuperblockRefused)
