"""8.2: a batch that cannot be read is not one that was never acknowledged."""

from __future__ import annotations

from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    witness = play.lose_witness()
    play.members[witness].disk.rot(2)
    play.start(witness)
    play.mend()
    play.pass_time(500)
    if (slot := play.leader()) is not None:
        play.decide(slot)
