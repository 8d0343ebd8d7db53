"""I-6, V-4: a member that is far behind takes nothing of its own for decided, and catches up."""

from __future__ import annotations

from fusee.vr.messages import LogRange
from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    play.form(3, kept=0)
    leader = play.lead()
    play.decide(leader, 2)
    play.pass_time(30)
    play.isolate(leader)
    play.order(leader, 5)  # Nobody else ever sees these.
    play.settle()
    second = play.lead(other_than=leader)
    play.decide(second, 3)
    play.pass_time(30)
    play.mend()
    before = len(play.sent)
    play.pass_time(200)
    ranges = [message for _, to, message in play.sent[before:] if to == leader]
    play.expect(any(isinstance(m, LogRange) for m in ranges), "the log was not asked for")
