"""Q-2: an answer to a heartbeat from before the question says nothing of now."""

from __future__ import annotations

from fusee.vr.messages import PrepareOk
from sim.scenarios.group_play import MS, GroupPlay


def play(play: GroupPlay) -> None:
    old = play.lead()
    play.decide(old)
    play.pass_time(30)
    friend, _ = play.others(old)
    late = play.said(friend, PrepareOk)[-1]
    play.stop(old)
    play.decide(play.lead(other_than=old))
    play.now_ns += 10 * MS
    play.expect(play.members[old].read(1), "the old primary knows already")
    play.members[old].hear(friend, late)
    play.expect(play.checkers.answers == 0, "an old answer confirmed a read")
