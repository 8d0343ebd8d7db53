"""V-8: what was acknowledged in an earlier view does not count in a later one."""

from __future__ import annotations

from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    play.form(5)
    leader = play.lead()
    play.decide(leader)
    friend, *rest = play.others(leader)
    play.cut(leader, *rest)
    play.order(leader, 2)  # The friend acknowledges ops 2 and 3; two of five decide nothing.
    play.settle()
    play.isolate(friend)
    second = play.lead(other_than=leader)
    play.decide(second)  # Another op 2.
    play.mend()
    play.pass_time(100)
    play.members[second].hand_over(leader)
    play.settle()
    play.expect(play.lead(other_than=second) == leader, "the lead was not handed over")
    play.pass_time(100)
    play.cut(leader, *(slot for slot in play.others(leader) if slot != second))
    play.order(leader)
    play.settle()
    play.expect(play.members[leader].state.commit_op == 2, "an ack of an earlier view decided")
