"""A segment's file was cut short behind its first batch: in what is gone no witness is left."""

from __future__ import annotations

from fusee.base.errors import AcknowledgedDataLost
from fusee.base.limits import UNIT_SIZE
from sim.scenarios.log_play import LogPlay


def play(play: LogPlay) -> None:
    play.open()
    play.append()
    play.append()
    name, unit = play.frame(2)
    play.disk.cut_short(name, unit * UNIT_SIZE)
    play.expect_refusal(AcknowledgedDataLost)
