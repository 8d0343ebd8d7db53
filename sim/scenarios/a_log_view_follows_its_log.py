"""I-2: the log is on disk before the log view that vouches for it."""

from __future__ import annotations

from fusee.vr.ready import Install
from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    leader = play.lead()
    behind, _ = play.others(leader)
    play.isolate(behind)
    play.decide(leader, 3)
    play.mend()
    play.hold(behind, Install)
    play.isolate(leader)
    play.pass_time(300)
    disk = play.members[behind].disk
    play.expect(
        disk.log_view < play.members[behind].state.view, "a log view without its log is durable"
    )
