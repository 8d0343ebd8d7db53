"""H-2: a member acknowledges up to its first damaged batch, and no further."""

from __future__ import annotations

from fusee.vr.messages import Batches, PrepareOk
from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    leader = play.lead()
    play.decide(leader, 3)
    holed, _ = play.others(leader)
    play.pass_time(50)
    play.crash(holed)
    play.members[holed].disk.rot(2)
    play.drop(Batches)
    play.start(holed)
    play.decide(leader, 2)
    play.pass_time(50)
    play.expect(play.said(holed, PrepareOk)[-1].durable.op == 1, "a damaged batch was acknowledged")
