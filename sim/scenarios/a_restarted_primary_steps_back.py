"""R-1: a primary that comes back never leads its stored view again."""

from __future__ import annotations

from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    first = play.lead()
    play.decide(first, 2)
    play.freeze(first)
    play.decide(first)  # By both backups, without the primary's disk.
    view = play.members[first].state.view
    play.crash(first)
    play.start(first)
    play.settle()
    play.expect(play.members[first].state.view > view, "the old primary is back in the view it led")
    play.decide(play.lead())
