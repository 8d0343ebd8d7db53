"""N-1, N-2: a batch is shipped before the primary's own write, and decided without it."""

from __future__ import annotations

from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    leader = play.lead()
    play.decide(leader)
    play.freeze(leader)
    play.decide(leader, 5)
    play.expect(play.members[leader].state.commit_op == 6, "the primary waits for its own disk")
    play.expect(play.members[leader].state.durable_op == 1, "its disk was not slow")
