"""The last batch was acknowledged and is garbage now: the log may end, and never silently."""

from __future__ import annotations

from sim.scenarios.log_play import LogPlay


def play(play: LogPlay) -> None:
    play.open()
    for _ in range(3):
        play.append(900)
    play.garble(3, 0, 1, 2)
    play.open()
    play.append(900)
    play.open()
