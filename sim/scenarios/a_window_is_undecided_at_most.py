"""N-7: a primary that nobody answers orders a window of batches, and no more."""

from __future__ import annotations

from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    leader = play.lead()
    play.decide(leader)
    play.freeze(*play.others(leader))
    window = play.members[leader].state.limits.window_batches
    play.order(leader, window)
    play.settle()
    replica = play.members[leader].replica
    play.expect(replica is not None and not replica.can_propose, "the window has no bound")
