"""N-8: a primary whose disk hangs orders only so much more than it holds."""

from __future__ import annotations

from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    leader = play.lead()
    play.freeze(leader)
    lag_max = play.members[leader].state.limits.lag_batches
    play.decide(leader, lag_max)
    replica = play.members[leader].replica
    play.expect(replica is not None and not replica.can_propose, "it goes on without end")
    play.mend()
    play.settle()
    play.decide(leader)
