"""R-3: a backup that restarts in its view needs nobody's word, and deposes nobody."""

from __future__ import annotations

from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    leader = play.lead()
    play.decide(leader, 2)
    play.pass_time(30)
    view = play.members[leader].state.view
    for slot in play.others(leader):
        play.crash(slot, lands=True)
        play.start(slot)
        play.pass_time(30)
        play.decide(leader)
    play.expect(play.members[leader].state.view == view, "a restart of a backup ended the view")
