"""A crash came between making a segment and noting it: the next boot does, and misses its file."""

from __future__ import annotations

from random import Random

from fusee.base.errors import AcknowledgedDataLost
from fusee.log.segment import segment_name
from sim.scenarios.log_play import LogPlay


def play(play: LogPlay) -> None:
    play.open()
    play.append()
    play.device.crash_after(1, Random(1))
    play.prepare()
    assert play.device.is_off, "power was lost before the segment was noted"
    assert segment_name(2) in play.disk.names
    play.expect_opening()
    play.fill()
    play.append()
    del play.disk.names[segment_name(2)]
    play.expect_refusal(AcknowledgedDataLost)
