"""V-6: a report of a view change that is lost is made again, and the view begins."""

from __future__ import annotations

from fusee.vr.messages import DoViewChange
from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    old = play.lead()
    play.decide(old)
    play.pass_time(30)
    view = play.members[old].state.view
    play.crash(old)
    for slot in play.others(old):
        play.members[slot].disconnected(old)
    play.drop(DoViewChange)
    play.settle()
    play.mend()
    play.pass_time(30)
    leader = play.leader()
    play.expect(leader is not None, "the view does not begin")
    play.expect(leader is not None and play.members[leader].state.view == view + 1, "it was left")
