"""One bit of a batch's content has rotted: it is not handed out."""

from __future__ import annotations

from sim.scenarios.log_play import LogPlay


def play(play: LogPlay) -> None:
    play.open()
    for _ in range(3):
        play.append(900)
    play.flip(3, 700)
    play.open()
