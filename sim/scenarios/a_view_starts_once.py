"""V-10: a StartView that comes again changes nothing."""

from __future__ import annotations

from fusee.vr.messages import StartView
from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    leader = play.lead()
    again = play.said(leader, StartView)[-1]
    play.decide(leader, 3)
    for slot in play.others(leader):
        play.members[slot].hear(leader, again)
        play.expect(play.members[slot].state.is_normal, "a view began twice")
    play.settle()
