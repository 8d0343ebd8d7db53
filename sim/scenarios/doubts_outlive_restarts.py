"""S-11: a member that is in doubt stays so, however often it starts."""

from __future__ import annotations

from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    witness = play.lose_witness()
    play.members[witness].disk.rot_end()
    play.start(witness)
    play.mend()
    play.pass_time(300)
    play.crash(witness)
    play.start(witness)
    play.pass_time(500)
    if (slot := play.leader()) is not None:
        play.decide(slot)
