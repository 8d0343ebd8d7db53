"""A disk only says that it has written a copy of the superblock: it is written once more."""

from __future__ import annotations

from fusee.base.limits import BLOCK_SIZE
from fusee.log import superblock as sb
from sim.scenarios import ScenarioFailed
from sim.scenarios.log_play import LogPlay


def play(play: LogPlay) -> None:
    play.open()
    play.append()
    play.device.lose_after(1)
    play.lead()
    file = play.disk.names[sb.FILE]
    for copy in range(sb.COPY_COUNT):
        block = file.held(sb.copy_offset(copy), BLOCK_SIZE)
        stored = sb.decode_copy(block, copy)
        if not isinstance(stored, sb.Stored) or stored.superblock != play.log.superblock:
            raise ScenarioFailed(f"copy {copy} of the superblock was believed to be written")
    play.open()
