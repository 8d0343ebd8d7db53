"""H-4: a late answer with another batch of the same op does not repair a damaged one."""

from __future__ import annotations

from fusee.vr.messages import Batches, PrepareOk
from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    old = play.lead()
    play.decide(old)
    play.pass_time(30)
    backup, other = play.others(old)
    play.isolate(old)
    play.order(old)  # Op 2, which nobody else ever sees.
    play.settle()
    stale = play.members[old].state.tail.get(2)
    new = play.lead(other_than=old)
    play.decide(new)
    play.pass_time(30)
    follower = backup if new == other else other
    play.crash(follower)
    play.members[follower].disk.rot(2)
    play.drop(Batches)
    play.start(follower)
    play.pass_time(20)
    assert stale is not None
    assert stale.batch is not None
    view = play.members[follower].state.view
    late = Batches(epoch=1, view=view, batches=(stale.batch.data,))
    play.members[follower].hear(old, late)
    play.settle()
    mine = play.members[follower].state.tail.get(2)
    play.expect(mine is not None and mine.batch is None, "it took another batch for its own")
    play.pass_time(20)
    play.expect(play.said(follower, PrepareOk)[-1].durable.op == 1, "it acknowledged that")
