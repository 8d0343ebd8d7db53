"""SD-1: a primary that nobody answers stops its heartbeats, so that the others elect."""

from __future__ import annotations

from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    leader = play.lead()
    for slot in play.others(leader):
        play.cut(slot, leader, one_way=True)
    play.lead(other_than=leader)
