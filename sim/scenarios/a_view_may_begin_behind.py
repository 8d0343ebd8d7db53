"""I-6: who is to lead and does not know what led to the commit position learns it first.

Whoever answers tells only what it knows to be decided: here one member holds other batches.
"""

from __future__ import annotations

from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    play.form(5, kept=0)
    stale = play.lead()
    play.decide(stale)
    play.pass_time(30)
    behind = (stale + 2) % 5
    play.isolate(behind)
    play.isolate(stale)
    play.order(stale, 3)  # Nobody else ever sees these.
    play.settle()
    second = play.lead(other_than=stale)
    play.decide(second, 6)
    play.pass_time(30)
    third = play.others(stale, behind, second)
    play.crash(third[0])
    play.crash(second)
    play.mend()
    play.pass_time(600)
    play.expect(play.leader() is not None, "nobody leads")
