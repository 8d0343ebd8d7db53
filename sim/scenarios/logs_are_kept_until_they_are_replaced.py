"""V-4: nothing is cut off on hearing of a later view."""

from __future__ import annotations

from fusee.vr.messages import Commit
from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    leader = play.lead()
    play.decide(leader)
    _, absent = play.others(leader)
    play.isolate(absent)
    play.drop(Commit)
    play.decide(leader)
    play.crash(leader)
    play.mend()
    play.decide(play.lead(other_than=leader))
