"""Nodes that are slow, die, or lie: what a crash test puts between an engine and its log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fusee.base.clock import Clock
from fusee.base.ids import ShardId, Ticket
from fusee.engine.commitlog import Stopped
from fusee.node.local_node import LocalNode
from fusee.node.storage import Storage
from fusee.record.group import CLOSES, STARTS, decode_section, encode_section
from fusee.vr.state import ReplicaState
from tests.support.ram_device import PowerLost


def remade(node: LocalNode, node_class: type[LocalNode]) -> LocalNode:
    """Return the node of an assembly as one of another class."""
    return node_class(node.state, node.storage, node._clock)


class WatchedNode(LocalNode):
    """Tells a subclass of every append of one group."""

    def __init__(self, state: ReplicaState, storage: Storage, clock: Clock) -> None:
        super().__init__(state, storage, clock)
        append = self.append

        def watched(shard: ShardId, group: bytes) -> Ticket:
            ticket = append(shard, group)
            self.appended_group(ticket, group)
            return ticket

        self.append = watched

    def appended_group(self, ticket: Ticket, group: bytes) -> None:
        raise NotImplementedError


class LazyNode(WatchedNode):
    """Writes at every fourth chance only, so that much happens between append and commit."""

    chances = 0
    rest = 4

    def appended_group(self, ticket: Ticket, group: bytes) -> None:
        pass

    def flush(self) -> bool:
        if self.can_flush:
            self.chances += 1
        return self.chances % self.rest == 0 and super().flush()


class DyingNode(WatchedNode):
    """The process dies right after some turn was appended, before anything is written."""

    turns_left = 0

    def appended_group(self, ticket: Ticket, group: bytes) -> None:
        self.turns_left -= 1
        if self.turns_left == 0:
            raise PowerLost


class EagerNode(LazyNode):
    """Says "committed" as soon as something was appended, for groups that `is_early` picks."""

    told = Ticket(0)

    def listen(
        self,
        on_commit: Callable[[Ticket], None],
        on_room: Callable[[], None],
        on_stop: Callable[[Stopped], None],
    ) -> None:
        def never_back(ticket: Ticket) -> None:
            self.told = max(self.told, ticket)
            on_commit(self.told)

        self.host = asyncio.get_running_loop()
        super().listen(never_back, on_room, on_stop)

    def appended_group(self, ticket: Ticket, group: bytes) -> None:
        if self.is_early(decode_section(encode_section([group]))[0].marks):
            # Not within the turn: there the run's own loop is the running one.
            self.host.call_soon(self._on_commit, ticket)

    def is_early(self, marks: int) -> bool:
        raise NotImplementedError


class EagerForSteps(EagerNode):
    def is_early(self, marks: int) -> bool:
        return marks == 0


class EagerForStarts(EagerNode):
    def is_early(self, marks: int) -> bool:
        return bool(marks & STARTS)


class EagerForEnds(EagerNode):
    def is_early(self, marks: int) -> bool:
        return bool(marks & CLOSES)
