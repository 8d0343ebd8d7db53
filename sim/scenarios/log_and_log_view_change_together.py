"""I-3: a bracket that ends late brings its log view, whatever view it meets."""

from __future__ import annotations

from fusee.vr.messages import DoViewChange
from fusee.vr.ready import Install
from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    leader = play.lead()
    play.decide(leader)
    late, other = play.others(leader)
    play.isolate(late)
    play.decide(leader, 2)
    play.mend()
    play.hold(late, Install)
    play.members[leader].hand_over(other)
    play.settle()
    play.expect(play.lead(other_than=leader) == other, "the lead was not handed over")
    view = play.members[other].state.view
    play.pass_time(20)
    play.crash(other)
    play.pass_time(300)
    play.expect(play.members[late].state.view > view, "a dead primary was not left")
    play.release(Install)
    play.pass_time(100)
    change = play.said(late, DoViewChange)[-1]
    play.expect(
        (change.log_view, change.head_op) >= (view, 3), "a log was reported under another's view"
    )
