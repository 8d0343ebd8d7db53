"""A block of an open log is read wrongly once, or not at all: that is no loss."""

from __future__ import annotations

from sim.scenarios.log_play import LogPlay


def play(play: LogPlay) -> None:
    play.open()
    for _ in range(3):
        play.append()
    play.misread_now(2, 0)
    if [batch.op for batch in play.log.read(1, 1 << 20)] != [1, 2, 3]:
        play.violations.append("a read returned something else than was written")
    assert play.device.misread, "a block was read wrongly"
