"""What a boot has saved in the superblock is what the next one finds, also if no frame tells."""

from __future__ import annotations

from sim.scenarios.log_play import LogPlay


def play(play: LogPlay) -> None:
    play.expect_opening()
    for _ in range(3):
        play.lead()
        play.expect_opening()
