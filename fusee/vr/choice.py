"""Which log a new view begins with: from what each member says of its own to one chain.

The most dangerous decision of the protocol, so it is one pure function over the
DoViewChange messages. It keeps every batch that may have been committed, and drops one only
when f + 1 members prove that they never acknowledged it: q acks and f + 1 members without
an ack cannot both exist. Damaged is not missing: a member that cannot read a batch, or
cannot say whether it had one, has no say about it.

Rules: docs/internals/replication.md, "Choosing the log of a view". Sources: Liskov and
Cowling (2012) 4.2; Alagappan et al., Protocol-Aware Recovery (FAST '18) 3.4; TigerBeetle's
nack quorum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fusee.log.superblock import BatchId
from fusee.vr.messages import Place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fusee.vr.messages import DoViewChange


class Chosen(msgspec.Struct, frozen=True):
    """The log of the new view: `links` are the ops above the chooser's own commit position.

    With `is_far` nobody has said which batches lead there from that position: `links` are then
    the ops above `commit`, and what is decided below is still to be learned.
    """

    links: tuple[BatchId, ...]
    commit: BatchId
    """The highest position that any member knows to be decided."""
    is_far: bool = False


class Undecided(msgspec.Struct, frozen=True):
    """More members must speak before `op` can be kept or dropped (step 9)."""

    op: int
    hash: bytes = b""


class Diverged(Exception):
    """Two different batches for one op of one log: the group has forked (B-3). Nothing goes on."""

    def __init__(self, op: int, text: str) -> None:
        super().__init__(f"op {op}: {text}. The group has diverged; stop it and keep the logs.")
        self.op = op


def choose(own: BatchId, said: Mapping[int, DoViewChange], quorum: int) -> Chosen | Undecided:
    """Return the log above `own`, the chooser's commit position, or why it is too early.

    `said` maps slots to what their members said for one view; `quorum` is f + 1. Raises
    `Diverged`. Needs a quorum of members including the chooser.
    """
    assert len(said) >= quorum
    log_view = max(change.log_view for change in said.values())
    view = _Opinions(said, log_view)
    commit = max((change.commit for change in said.values()), key=lambda batch: batch.op)
    hashes = view.canonical()
    links: list[BatchId] = []
    is_far = any(op not in hashes for op in range(own.op + 1, commit.op))
    for op in range((commit.op if is_far else own.op) + 1, max(view.top, commit.op) + 1):
        known = hashes.get(op)
        if known is None:
            assert op > commit.op, "where a log is decided is known"
            if not view.may_be_held(op):
                break
            if view.nacks_of_unknown(op) >= quorum:
                break
            return Undecided(op)
        if op > commit.op:
            haves, nacks = view.count(op, known)
            if not haves and nacks >= quorum:
                break
            if not haves:
                return Undecided(op, known)
        links.append(BatchId(op, known))
    return Chosen(tuple(links), commit, is_far)


class _Opinions:
    """What the members say of single ops."""

    def __init__(self, said: Mapping[int, DoViewChange], log_view: int) -> None:
        self._said = said
        self._held = {
            slot: {held.op: held for held in change.suffix} for slot, change in said.items()
        }
        self._inside = {
            slot: change for slot, change in said.items() if change.log_view == log_view
        }
        """Members whose log is of the newest log view (step 1): only their logs are followed."""
        self._start_op = max(change.vouch.op for change in self._inside.values())

    @property
    def top(self) -> int:
        """The last op that a log of the newest log view may hold."""
        return max(max(change.head_op, change.unknown_op) for change in self._inside.values())

    def canonical(self) -> dict[int, bytes]:
        """Return the hashes of the newest log, as far as messages prove them (steps 2 and 3).

        From the logs of the newest log view, from what any member knows to be decided, and
        backwards along `prev` links, whoever still holds the batch that carries the link.
        """
        hashes: dict[int, bytes] = {}
        for change in self._said.values():
            _note(hashes, change.commit.op, change.commit.hash)
            for held in change.suffix:
                if held.op <= change.commit.op:
                    _note(hashes, held.op, held.hash)
        for slot, change in self._inside.items():
            _note(hashes, change.vouch.op, change.vouch.hash)
            for op, held in self._held[slot].items():
                _note(hashes, op, held.hash)
        for op in range(max(hashes), 0, -1):
            if op not in hashes:
                continue
            prev = self._prev(op, hashes[op])
            if prev:
                _note(hashes, op - 1, prev)
        return hashes

    def _prev(self, op: int, of: bytes) -> bytes:
        for known in self._held.values():
            held = known.get(op)
            if held is not None and held.hash == of and held.prev:
                return held.prev
        return b""

    def may_be_held(self, op: int) -> bool:
        """Whether a member of the newest log view has `op`, or cannot say (step 5)."""
        return any(
            change.head_op >= op or _abstains(change, op) for change in self._inside.values()
        )

    def nacks_of_unknown(self, op: int) -> int:
        """Count who certainly never acknowledged an op whose identity nobody knows (step 6).

        A member of an older log view may have had it below where the newest log began; above
        that, only members of the newest log view were ever asked to acknowledge it.
        """
        count = 0
        for slot, change in self._said.items():
            if _abstains(change, op) or (slot in self._inside and change.head_op >= op):
                continue
            if slot in self._inside or op > self._start_op or change.head_op < op:
                count += 1
        return count

    def count(self, op: int, known: bytes) -> tuple[int, int]:
        """Return how many have a batch, and how many prove that they never acknowledged it."""
        haves = nacks = 0
        for slot, change in self._said.items():
            held = self._held[slot].get(op)
            if held is not None and held.hash == known:
                haves += held.place is not Place.DAMAGED
                nacks += held.place is Place.MEMORY
            elif not _abstains(change, op):
                nacks += 1
        return haves, nacks


def _abstains(change: DoViewChange, op: int) -> bool:
    return 0 < change.unknown_op <= op <= change.unknown_op_max


def _note(hashes: dict[int, bytes], op: int, found: bytes) -> None:
    if hashes.setdefault(op, found) != found:
        raise Diverged(op, "two members hold different batches under one log view")
