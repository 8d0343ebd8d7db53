"""After an orderly close the last batch has a witness: damaged, it is missed and not skipped."""

from __future__ import annotations

from fusee.base.errors import AcknowledgedDataLost
from sim.scenarios.a_failed_write_is_the_end import Steps
from sim.scenarios.play import Play


def play(play: Play) -> None:
    play.app(Steps())
    play.live()
    file, offset = play.disk.batches[-1]
    play.disk.garble(file, offset)
    try:
        play.live()
    except AcknowledgedDataLost:
        return
    play.ledger.blame("opened, and its last batch is damaged")
