"""G-1: what shows a view leaves only once the view is durable."""

from __future__ import annotations

from fusee.vr.messages import GetView, Message
from sim.scenarios.group_play import GroupPlay


def play(play: GroupPlay) -> None:
    leader = play.lead()
    play.decide(leader)
    slow, _ = play.others(leader)
    play.freeze(slow)
    play.isolate(leader)
    view = play.members[slow].disk.view
    play.pass_time(300)
    play.expect(play.members[slow].state.view > view, "nobody left the view of a silent primary")
    loud = [m for m in play.said(slow, Message) if m.view > view and not isinstance(m, GetView)]
    play.expect(not loud, "a member spoke for a view that it would have forgotten")
