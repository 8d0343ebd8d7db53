"""SD-4: a planned handover makes the chosen member the next primary."""

from __future__ import annotations

from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    for step in (1, 2):
        leader = play.lead()
        play.decide(leader)
        target = (leader + step) % 3
        play.members[leader].hand_over(target)
        play.settle()
        play.pass_time(10)
        play.expect(play.leader() == target, "another member leads")
