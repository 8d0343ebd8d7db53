"""How many is enough. Commit, view change and nack quorums of groups of 1, 3 and 5.

f = (N - 1) / 2; commit quorum = view change quorum = nack quorum = f + 1. Even sizes are
never configured: replacing a member is one batch that removes and adds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.base.ids import OpNumber

if TYPE_CHECKING:
    from collections.abc import Collection

GROUP_SIZES = (1, 3, 5)


def quorum_size(members: int) -> int:
    """Return f + 1 for a group of `members`."""
    assert members in GROUP_SIZES, f"a group has 1, 3 or 5 members, not {members}"
    return members // 2 + 1


def quorum_op(durable_ops: Collection[OpNumber], quorum: int) -> OpNumber:
    """Return the highest op that at least `quorum` members hold durably (rule N-2).

    The primary's own disk is one entry like any other: its slowness must not slow the group.
    """
    if len(durable_ops) < quorum:
        return OpNumber(0)
    return sorted(durable_ops, reverse=True)[quorum - 1]
