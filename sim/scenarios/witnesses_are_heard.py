"""A later frame proves that a batch was durable: without the batch nothing is opened."""

from __future__ import annotations

from fusee.base.errors import AcknowledgedDataLost
from sim.scenarios.log_play import LogPlay


def play(play: LogPlay) -> None:
    play.open()
    for _ in range(3):
        play.append(900)
    play.garble(2, 0, 1)
    play.expect_refusal(AcknowledgedDataLost)
