"""A write that power cut off ends the log, and nothing is in doubt, whatever part of it landed."""

from __future__ import annotations

from sim.scenarios.log_play import LogPlay


def play(play: LogPlay) -> None:
    play.expect_opening()
    play.append()
    for units in ((0,), (1, 5), (), (0, 1, 2, 9)):
        play.tear(*units)
        play.append(5_000)
        play.expect_opening()
        play.append()
    play.expect_opening()
