"""G-3: a member acknowledges what its disk holds, and nothing that is only in memory."""

from __future__ import annotations

from fusee.vr.messages import PrepareOk
from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    leader = play.lead()
    slow, _ = play.others(leader)
    play.freeze(slow)
    play.decide(leader, 3)
    play.expect(
        all(ok.durable.op == 0 for ok in play.said(slow, PrepareOk)),
        "a member acknowledged what its disk does not hold",
    )
