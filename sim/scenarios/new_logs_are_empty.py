"""A directory that was only made holds nothing, and nothing is in doubt."""

from __future__ import annotations

from sim.scenarios.log_play import LogPlay


def play(play: LogPlay) -> None:
    play.expect_opening()
    play.expect_opening()
    play.append()
    play.expect_opening()
