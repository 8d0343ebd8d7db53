"""What must hold of a group, whatever happens: the invariants of docs/internals/replication.md.

J1 one batch is decided per op     J3 promises never go back        J6 equal log views, equal logs
J2 what was acknowledged stays     J4 one primary, one batch a view J7 an ack tells the truth
J11 an answer knows of everything that was acknowledged before its question
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.vr.messages import NOTHING

if TYPE_CHECKING:
    from fusee.log.batch import Batch
    from fusee.vr.messages import PrepareOk
    from sim.protocol.member import Member


class Broken(Exception):
    """A promise is broken; the text is the violation."""


class Checkers:
    """Fed by members and the world; raises at once."""

    def __init__(self) -> None:
        self.decided: list[bytes] = [NOTHING.hash]
        """Hash of every decided batch by op."""
        self.acked: dict[int, bytes] = {}
        """What a client was told is durable."""
        self._asked: dict[int, int] = {}
        """Token of a read -> what had been acknowledged when it was asked."""
        self.answers = 0
        self.owed: set[str] = set()
        """Kinds of duties that members had."""
        self._commit_op: dict[tuple[int, int], int] = {}
        self._views: dict[int, tuple[int, int]] = {}
        self._primaries: dict[int, int] = {}
        self._proposed: dict[tuple[int, int], bytes] = {}

    def proposed(self, member: Member, batch: Batch) -> None:
        """J4: in one view one batch is ordered for an op."""
        known = self._proposed.setdefault((batch.view, batch.op), batch.hash)
        if known != batch.hash:
            raise Broken(f"member {member.slot} orders another op {batch.op} in view {batch.view}")

    def looked_at(self, member: Member) -> None:
        """Look at a member after it has handled an input."""
        if not member.is_up:
            return
        state = member.state
        disk = member.disk
        views = self._views.get(member.slot, (0, 0))
        if disk.view < views[0] or disk.log_view < views[1]:
            raise Broken(f"member {member.slot} went back from views {views} (J3)")
        self._views[member.slot] = (disk.view, disk.log_view)
        if state.is_normal and state.is_primary:
            leader = self._primaries.setdefault(state.view, member.slot)
            if leader != member.slot:
                raise Broken(f"members {leader} and {member.slot} both lead view {state.view}")
        key = (member.slot, member.life)
        before = self._commit_op.get(key, 0)
        if state.commit_op < before:
            raise Broken(f"member {member.slot} decides less than before")
        if state.commit_op > before:
            self._commit_op[key] = state.commit_op
            self._decide(member, before)

    def _decide(self, member: Member, before: int) -> None:
        state = member.state
        for op in range(before + 1, state.commit_op + 1):
            found, prev = _batch_at(member, op)
            if op < len(self.decided):
                if self.decided[op] != found:
                    raise Broken(f"op {op}: member {member.slot} decides another batch (J1)")
                continue
            if op != len(self.decided) or prev != self.decided[op - 1]:
                raise Broken(f"op {op}: what member {member.slot} decides is not the next (J1)")
            self.decided.append(found)
        if state.is_normal and state.is_primary:
            for op in range(before + 1, state.commit_op + 1):
                self.acked[op] = self.decided[op]

    def asked(self, token: int) -> None:
        """A member takes a question."""
        self._asked[token] = max(self.acked, default=0)

    def answered(self, member: Member, token: int) -> None:
        """J11: a member answers from what it knows now."""
        known, wanted = member.state.commit_op, self._asked.pop(token)
        self.answers += 1
        if known < wanted:
            raise Broken(
                f"member {member.slot} answers a read from op {known}, and op {wanted} had been"
                " acknowledged before it was asked (J11)"
            )

    def acknowledged(self, member: Member, message: PrepareOk) -> None:
        """J7: an ack is of a durable view, a durable log view, and a whole prefix."""
        disk = member.disk
        if disk.view < message.view or disk.log_view != message.view:
            raise Broken(f"member {member.slot} acknowledges in a view that it may forget (J7)")
        if not disk.holds(message.durable):
            raise Broken(f"member {member.slot} acknowledges op {message.durable.op} without it")

    def at_the_end(self, members: list[Member]) -> None:
        """J2 and J6, once everything has converged."""
        for member in members:
            for op, known in self.acked.items():
                frames = member.disk.frames
                if op > len(frames) or frames[op - 1].batch.hash != known:
                    raise Broken(
                        f"op {op} was acknowledged, and member {member.slot} lacks it (J2)"
                    )


def _batch_at(member: Member, op: int) -> tuple[bytes, bytes]:
    """Return hash and predecessor of a batch in a member's log, in memory or on its disk."""
    entry = member.state.tail.get(op)
    if entry is not None:
        return entry.hash, entry.prev
    batch = member.disk.frames[op - 1].batch
    return batch.hash, batch.prev
