"""V-1: a member that hears nobody asks to leave, and stays."""

from __future__ import annotations

from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    leader = play.lead()
    deaf, other = play.others(leader)
    view = play.members[leader].state.view
    play.cut(leader, deaf, one_way=True)
    play.cut(other, deaf, one_way=True)
    play.pass_time(1_000)
    play.expect(play.members[leader].state.view == view, "one deaf member deposed a primary")
    play.expect(play.leader() == leader, "the primary leads no more")
