"""What an end in doubt left behind, and reads well again, is no reason to refuse a later log."""

from __future__ import annotations

from fusee.base.limits import UNIT_SIZE
from fusee.log.tags import BLOCK_UNITS
from sim.scenarios.log_play import LogPlay


def play(play: LogPlay) -> None:
    play.open()
    play.append()
    play.seal()
    play.append()
    name, old = play.frame(2)
    held = play.disk.names[name].unit(old)
    play.garble(1, BLOCK_UNITS)
    play.garble(2, 0)
    play.open()
    play.disk.names[name].put(old * UNIT_SIZE, held)
    play.append(900)
    assert play.frame(2)[1] == old - BLOCK_UNITS, "the new batch lies where the seal was"
    play.open()
    play.flip(2, 700)
    if not play.open():
        play.violations.append(f"refused, and nothing proves a loss: {play.refusal}")
