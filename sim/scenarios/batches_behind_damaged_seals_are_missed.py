"""A seal is damaged and the next batch lies whole behind it: that batch is not dropped."""

from __future__ import annotations

from fusee.base.errors import AcknowledgedDataLost
from fusee.base.limits import BLOCK_SIZE
from fusee.log.tags import BLOCK_UNITS
from sim.scenarios.log_play import LogPlay


def play(play: LogPlay) -> None:
    for bit_of in (0, 3):
        other = LogPlay()
        other.open()
        other.append()
        other.seal()
        other.append()
        seal = other.frame(1)[1] + BLOCK_UNITS
        assert other.frame(2)[1] == seal + BLOCK_UNITS, "a seal lies between them"
        other.flip(1, BLOCK_SIZE + bit_of * 512 + 510)
        other.expect_refusal(AcknowledgedDataLost)
        play.violations += other.violations
