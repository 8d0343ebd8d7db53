"""8.3: a log is chosen by the view that it is of, and not by its length."""

from __future__ import annotations

from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    first = play.lead()
    play.decide(first)
    play.isolate(first)
    play.order(first, 5)
    play.settle()
    second = play.lead(other_than=first)
    play.decide(second)
    play.mend()
    play.isolate(second)
    third = play.lead(other_than=second)
    play.decide(third)
