"""A crash at any call of a trim leaves a directory that opens."""

from __future__ import annotations

from random import Random

from sim.scenarios.log_play import LogPlay


def play(play: LogPlay) -> None:
    for calls in range(10):
        other = LogPlay()
        other.expect_opening()
        other.fill()
        other.fill()
        other.device.crash_after(calls, Random(calls))
        other.trim(other.log.durable_op)
        other.expect_opening()
        play.violations += other.violations
