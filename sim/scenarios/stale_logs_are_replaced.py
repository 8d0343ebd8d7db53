"""N-6, V-2: a member of an older log takes neither commits nor batches into it."""

from __future__ import annotations

from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    leader = play.lead()
    play.decide(leader)
    stale, other = play.others(leader)
    play.cut(leader, other)
    play.freeze(leader)
    play.order(leader)  # Only one backup makes it durable.
    play.settle()
    play.isolate(stale)
    play.crash(leader)
    play.mend()
    play.isolate(stale)
    play.start(leader)
    second = play.lead()
    play.decide(second)  # Another batch of that op.
    play.mend()
    play.order(second)
    play.pass_time(200)
