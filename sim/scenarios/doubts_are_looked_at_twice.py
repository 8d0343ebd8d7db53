"""An end in doubt is read again before it is overwritten: its place, and what may be a witness."""

from __future__ import annotations

from fusee.base.errors import AcknowledgedDataLost, DirectoryRefused
from sim.scenarios.log_play import LogPlay


def play(play: LogPlay) -> None:
    play.open()
    play.append()
    play.append()
    play.misread(2, 0)
    play.expect_refusal(DirectoryRefused)
    play.open()
    play.append(5_000)
    play.append()
    play.garble(3, 0)
    for good_reads in (0, 1):  # Of the chain, then of the first search for witnesses.
        play.misread(4, good_reads)
        play.expect_refusal(AcknowledgedDataLost)
