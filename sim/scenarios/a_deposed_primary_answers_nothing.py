"""Q-1: a read is answered once a quorum has followed the primary since it was asked."""

from __future__ import annotations

from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    old = play.lead()
    play.decide(old)
    play.stop(old)
    new = play.lead(other_than=old)
    play.decide(new)
    play.expect(play.members[old].read(1), "the old primary knows already")
    play.settle()
    play.mend()
    play.pass_time(50)
    play.expect(play.members[new].read(2), "the new primary takes no question")
    play.settle()
    play.expect(play.checkers.answers == 1, "the new primary does not answer")
