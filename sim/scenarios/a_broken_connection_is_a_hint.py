"""N-11: members whose connection to the primary breaks move on at once, not after a silence."""

from __future__ import annotations

from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    old = play.lead()
    play.decide(old)
    play.pass_time(30)
    play.crash(old)
    for slot in play.others(old):
        play.members[slot].disconnected(old)
    play.settle()
    play.pass_time(10)
    play.expect(play.leader() is not None, "they wait for the silence")
