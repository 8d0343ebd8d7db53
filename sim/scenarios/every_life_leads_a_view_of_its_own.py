"""No two lives write in one view, or a batch that was forgotten could be taken for a new one."""

from __future__ import annotations

from sim.scenarios.a_failed_write_is_the_end import Steps
from sim.scenarios.play import Play


def play(play: Play) -> None:
    play.app(Steps())
    play.at(record="Scheduled", position=1).crash("landed")
    play.live()
    play.at(record="Scheduled", position=3).crash("torn", seed=3)
    play.live()
    play.finish()
