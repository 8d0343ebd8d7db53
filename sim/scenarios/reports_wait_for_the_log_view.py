"""G-2: a log is reported under a log view once the superblock holds that log view."""

from __future__ import annotations

from fusee.vr.messages import DoViewChange
from fusee.vr.ready import Install, Save
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
    play.pass_time(20)
    play.crash(other)
    play.pass_time(300)
    play.hold(late, Save)
    play.release(Install)
    play.pass_time(50)
    durable_view = play.members[late].disk.log_view
    play.expect(
        all(change.log_view <= durable_view for change in play.said(late, DoViewChange)),
        "a log was reported under a log view that would be forgotten",
    )
    play.release(Save)
