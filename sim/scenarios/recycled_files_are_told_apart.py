"""A segment that was another one before: its old frames are no damage and no data."""

from __future__ import annotations

from sim.scenarios.log_play import LogPlay


def play(play: LogPlay) -> None:
    play.expect_opening()
    for _ in range(6):
        play.fill()
        play.trim(play.log.durable_op)
    play.expect_opening()
    play.append()
    play.tear(1)
    play.append(5_000)
    play.expect_opening()
