"""V-13, I-6: what is damaged is not forgotten when a log that is far ahead is installed."""

from __future__ import annotations

from fusee.vr.messages import Batches
from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    play.form(3, kept=0)
    leader = play.lead()
    play.decide(leader, 4)
    play.pass_time(30)
    play.crash(leader)
    play.members[leader].disk.rot(2)
    second = play.lead(other_than=leader)
    play.decide(second, 20)
    play.drop(Batches)
    play.start(leader)
    play.pass_time(300)
