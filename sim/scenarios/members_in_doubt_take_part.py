"""8.2: two members cannot read their last batch, one can: all are heard, and it is kept."""

from __future__ import annotations

from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    leader = play.lead()
    play.decide(leader, 2)
    play.pass_time(30)
    whole, doubtful = play.others(leader)
    for slot in (leader, whole, doubtful):
        play.crash(slot)
    for slot in (leader, doubtful):
        play.members[slot].disk.rot_end()
    for slot in (leader, whole, doubtful):
        play.start(slot)
    second = play.lead()
    play.decide(second)
