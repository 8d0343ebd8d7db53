"""A trim lets go of what lies before a batch, and not of the batch."""

from __future__ import annotations

from sim.scenarios.log_play import LogPlay


def play(play: LogPlay) -> None:
    play.open()
    play.fill()
    last_of_first = play.log._writer.starts[1].base.op
    play.trim(last_of_first)
    play.fill()
    play.trim(last_of_first + 1)
    play.open()
