"""The seam between the two halves: tickets go up, commits and role changes come down.

The engine above appends groups of records and gets tickets; gates and outputs compare
tickets and nothing else. The replica below turns groups into batches and says how far
they are committed. The engine never sees an op before its commit.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fusee.base.ids import OpNumber, Reign, ShardId, Ticket, View

FOREVER_NS = 1 << 62
"""A deadline that never comes: alone, a node always has proof of its quorum."""


class Pressure(IntEnum):
    """How much work the log still takes."""

    NONE = 0
    NO_NEW_WORK = 1
    """Starts and messages from outside wait; runs go on."""
    STOP_STEPS = 2
    """No step function starts either; running ones may finish."""


class Leading(msgspec.Struct, frozen=True):
    """This process leads: its appended groups become batches from `start_op` on."""

    reign: Reign
    start_op: OpNumber


class Following(msgspec.Struct, frozen=True):
    """Another replica leads; uncommitted tickets of the old reign are unknown, not failed."""

    view: View
    primary: int


class Stopped(msgspec.Struct, frozen=True):
    """Nothing will ever commit here again."""

    reason: BaseException | None


Role = Leading | Following | Stopped


class CommitLog(Protocol):
    """What the engine needs from the log of its group, be it one replica or five."""

    @property
    def reign(self) -> Reign:
        """The reign that the tickets belong to."""
        ...

    @property
    def appended(self) -> Ticket:
        """The last ticket given out."""
        ...

    @property
    def committed(self) -> Ticket:
        """Everything at or below this ticket survives."""
        ...

    @property
    def may_act_until_ns(self) -> int:
        """Monotonic deadline until which this node has proof of a quorum."""
        ...

    @property
    def pressure(self) -> Pressure:
        """How much work the log still takes."""
        ...

    @property
    def is_full(self) -> bool:
        """Whether so much waits for the disk that turns, which append more, wait too."""
        ...

    def weigh(self, arrived_bytes: int = 0) -> None:
        """Judge the pressure anew: something large was appended, or has arrived or gone.

        Outcomes that wait for their turn will be appended in it, so they count before that;
        `arrived_bytes` is how many more of them wait now, negative for fewer.
        """
        ...

    def append(self, shard: ShardId, group: bytes) -> Ticket:
        """Append one group; it is visible to the code now and durable later."""
        ...

    def append_together(self, groups: Sequence[tuple[ShardId, bytes]]) -> Ticket:
        """Append groups of several shards under one ticket: none survives without the others."""
        ...

    @property
    def recent_us(self) -> int:
        """The last answer of `now_us`: cheap, and exact enough within one turn."""
        ...

    def now_us(self) -> int:
        """Group time: never behind the last batch, never going back."""
        ...
