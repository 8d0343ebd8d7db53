"""After an orderly close the last batch has a witness: damaged, it is missed and not skipped."""

from __future__ import annotations

from random import Random

from fusee.base.errors import AcknowledgedDataLost
from fusee.base.limits import UNIT_SIZE
from sim.scenarios.a_failed_write_is_the_end import Steps
from sim.scenarios.play import Play


def play(play: Play) -> None:
    play.app(Steps())
    play.live()
    file, offset = play.device.batches[-1]
    play.disk.garble(file, offset // UNIT_SIZE, Random(1))
    try:
        play.live()
    except AcknowledgedDataLost:
        return
    play.ledger.blame("opened, and its last batch is damaged")
