"""N-2: what less than a quorum holds is not decided."""

from __future__ import annotations

from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    leader = play.lead()
    play.decide(leader)
    play.isolate(leader)
    play.order(leader)
    play.settle()
    play.expect(play.members[leader].state.commit_op == 1, "one disk of three has decided")
