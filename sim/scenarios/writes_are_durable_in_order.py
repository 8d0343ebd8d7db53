"""Of two writes in flight the second ends first: nothing is durable before the first has."""

from __future__ import annotations

from fusee.base.limits import BLOCK_SIZE
from sim.scenarios.log_play import LogPlay


def play(play: LogPlay) -> None:
    play.open()
    play.append()
    writer = play.log._writer
    size, durable_op = BLOCK_SIZE, writer.durable_op
    first = writer.begin(b"1" * 16, size, durable_op, writer.head_op + 1, b"a" * 16)
    second = writer.begin(b"2" * 16, size, durable_op, writer.head_op + 1, b"b" * 16)
    if writer.finish(second) != durable_op:
        play.violations.append("a batch counts as durable, and the one before it is in flight")
    play.check()
    if writer.finish(first) != durable_op + 2:
        play.violations.append("both are written, and not both are durable")
