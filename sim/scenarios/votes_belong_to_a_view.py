"""VOL-1: what a member said for one view is no word for a later one."""

from __future__ import annotations

from fusee.vr.messages import DoViewChange
from fusee.vr.ready import Write
from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    first = play.lead()
    play.decide(first)
    second, third = (first + 1) % 3, (first + 2) % 3
    play.hold(second, Write)
    play.decide(first)
    play.members[first].hand_over(second)
    play.pass_time(20)  # It hears all, and cannot speak for itself while it writes.
    play.isolate(second)
    play.expect(play.lead(other_than=first) == third, "the view after does not begin")
    play.decide(third)
    play.mend()
    play.hold(second, Write)
    play.drop(DoViewChange)
    play.members[third].hand_over(second)
    play.pass_time(300)
    play.expect(play.members[second].state.view > 3, "the member missed that it is to lead")
    play.release(Write)
    play.pass_time(50)
