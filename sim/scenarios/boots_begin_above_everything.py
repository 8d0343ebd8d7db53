"""A boot numbers its frames above all that were ever written, also those that left no trace."""

from __future__ import annotations

from sim.scenarios.log_play import LogPlay


def play(play: LogPlay) -> None:
    play.expect_opening()
    play.append()
    for _ in range(3):
        play.tear()
        play.append(5_000)
        play.expect_opening()
