"""S-13: what an end in doubt left in a segment that was left then may read well again."""

from __future__ import annotations

from fusee.base.limits import UNIT_SIZE
from sim.scenarios.log_play import LogPlay


def play(play: LogPlay) -> None:
    play.open()
    play.append()
    play.append()
    name, unit = play.frame(2)
    held = play.disk.names[name].unit(unit)
    play.garble(2, 0)
    garbled = play.disk.names[name].unit(unit)
    play.expect_opening()
    play.append(30_000)  # Does not fit: the log goes on in the next segment.
    play.append()
    assert play.frame(2)[0] != name, "the segment was left"
    if play.disk.names[name].unit(unit) == garbled:  # Nothing was written over it.
        play.disk.names[name].put(unit * UNIT_SIZE, held)
    play.expect_opening()
