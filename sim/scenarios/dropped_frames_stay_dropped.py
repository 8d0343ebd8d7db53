"""A frame that one boot did not see, and that reads well later, is not taken up again."""

from __future__ import annotations

from fusee.base.limits import BLOCK_SIZE, UNIT_SIZE
from fusee.log.segment import segment_name
from sim.scenarios.log_play import LogPlay


def play(play: LogPlay) -> None:
    play.open()
    while play.log._writer.offset + BLOCK_SIZE < play.log._writer.size_bytes:
        play.append()
    play.append(4_500)
    dropped = play.log.head_op
    assert play.frame(dropped)[0] == segment_name(2), "it did not fit into the first segment"
    name, unit = play.frame(dropped)
    held = play.disk.names[name].unit(unit)
    play.garble(dropped, 0)
    play.open()
    play.disk.names[name].put(unit * UNIT_SIZE, held)
    play.seal()
    play.open()
