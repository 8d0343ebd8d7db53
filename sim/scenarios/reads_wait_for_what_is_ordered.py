"""Q-1, barrier: what is ordered and not decided yet must be, before a read is answered."""

from __future__ import annotations

from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    leader = play.lead()
    play.decide(leader)
    play.pass_time(30)
    play.freeze(*play.others(leader))
    play.order(leader)  # Nobody else makes it durable.
    play.settle()
    play.expect(play.members[leader].read(1), "the primary takes no question")
    play.pass_time(20)
    play.expect(play.checkers.answers == 0, "a read was answered that rests on an undecided batch")
    play.mend()
    play.pass_time(30)
    play.expect(play.checkers.answers == 1, "the read is never answered")
