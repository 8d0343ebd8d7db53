"""The newest segment's file is gone: what it held cannot be told, and nothing is opened."""

from __future__ import annotations

from fusee.base.errors import AcknowledgedDataLost
from sim.scenarios.log_play import LogPlay


def play(play: LogPlay) -> None:
    play.open()
    play.fill()
    play.append()
    del play.disk.names[play.log._writer.file]
    play.expect_refusal(AcknowledgedDataLost)
