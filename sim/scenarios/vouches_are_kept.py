"""The superblock says how far the log was durable when its view began: no log ends before that."""

from __future__ import annotations

from fusee.base.errors import AcknowledgedDataLost
from sim.scenarios.log_play import LogPlay


def play(play: LogPlay) -> None:
    play.open()
    play.append(900)
    play.append(900)
    play.device.power_off()
    play.open()
    play.lead()
    play.garble(2, 0)
    play.expect_refusal(AcknowledgedDataLost)
