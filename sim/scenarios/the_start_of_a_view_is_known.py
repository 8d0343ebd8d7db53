"""8.3: what a view began with is known by its start, also if its only log is unreadable there."""

from __future__ import annotations

from fusee.vr.messages import StartView
from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    leader = play.lead()
    play.decide(leader)
    second = (leader + 1) % 3
    absent = (leader + 2) % 3
    play.isolate(absent)
    play.decide(leader)
    play.crash(leader)
    play.mend()
    play.drop(StartView)
    play.expect(play.lead() == second, "the next primary does not lead")
    play.crash(second)
    play.members[second].disk.rot_end()
    play.mend()
    play.start(second)
    play.start(leader)
    play.cut(leader, absent)  # Whoever leads has heard the member whose log is the newest.
    play.decide(play.lead())
