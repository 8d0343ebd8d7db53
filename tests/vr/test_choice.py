"""Choosing the log of a view keeps what may be decided, and waits rather than guesses.

The law is tried on groups whose history is known: which member was asked to acknowledge
what, under which log view, what was decided, and what was damaged since.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fusee.log.superblock import BatchId
from fusee.vr.choice import Chosen, Diverged, Undecided, choose
from fusee.vr.messages import NOTHING, DoViewChange, Held, Place
from fusee.vr.quorum import quorum_size


def hash_of(op: int, branch: str = "") -> bytes:
    return f"{op}{branch}".encode().rjust(16, b".") if op else NOTHING.hash


def held(op: int, place: Place = Place.DURABLE, branch: str = "", since: int = 1) -> Held:
    before = branch if op > since else ""
    return Held(op, hash_of(op, branch), hash_of(op - 1, before), place)


def report(
    *suffix: Held, log_view: int = 1, commit: int = 0, start: int = 0, unknown: int = 0
) -> DoViewChange:
    return DoViewChange(
        epoch=1,
        view=9,
        log_view=log_view,
        vouch=BatchId(start, hash_of(start)),
        commit=BatchId(commit, hash_of(commit)),
        head_op=suffix[-1].op if suffix else commit,
        unknown_op=unknown,
        unknown_op_max=unknown,
        suffix=suffix,
    )


def ids(*ops: int) -> tuple[BatchId, ...]:
    return tuple(BatchId(op, hash_of(op)) for op in ops)


# ---------------------------------------------------------------- rows of the table


def test_the_newest_log_view_is_followed_and_not_the_longest_log():
    long = report(*(held(op, branch="x") for op in (1, 2, 3)), log_view=1)
    assert choose(NOTHING, {0: report(held(1), log_view=2), 1: long}, 2) == Chosen(ids(1), NOTHING)


def test_what_one_member_has_is_kept():
    said = {0: report(held(1)), 1: report(held(1), held(2))}
    assert choose(NOTHING, said, 2) == Chosen(ids(1, 2), NOTHING)


def test_what_is_only_damaged_is_waited_for():
    said = {0: report(held(1)), 1: report(held(1), held(2, Place.DAMAGED))}
    assert choose(NOTHING, said, 2) == Undecided(2, hash_of(2))


def test_what_is_damaged_and_was_acknowledged_by_too_few_is_dropped():
    said = {0: report(held(1)), 1: report(held(1), held(2, Place.DAMAGED)), 2: report(held(1))}
    assert choose(NOTHING, said, 2) == Chosen(ids(1), NOTHING)


def test_who_is_in_doubt_keeps_the_log_open():
    said = {0: report(held(1)), 1: report(held(1), unknown=2)}
    assert choose(NOTHING, said, 2) == Undecided(2)
    said[2] = report(held(1))
    assert choose(NOTHING, said, 2) == Chosen(ids(1), NOTHING)


def test_where_a_view_began_is_known_though_its_only_log_cannot_be_read_there():
    newest = report(held(1), log_view=2, start=2, unknown=2)
    older = report(held(1), held(2), log_view=1)
    assert choose(NOTHING, {0: newest, 1: older}, 2) == Chosen(ids(1, 2), NOTHING)


def test_a_member_of_an_older_log_view_nacks_nothing_that_it_may_have_acknowledged():
    newest = report(held(1), log_view=2, start=3, unknown=2)
    older = report(held(1), held(2, branch="x"), log_view=1)
    assert isinstance(choose(NOTHING, {0: newest, 1: older}, 2), Undecided)


def test_links_are_followed_backwards_through_whoever_holds_them():
    newest = report(held(1), Held(3, hash_of(3), hash_of(2)), log_view=2)
    older = report(held(1), held(2), log_view=1)
    assert choose(NOTHING, {0: newest, 1: older}, 2) == Chosen(ids(1, 2, 3), NOTHING)


def test_what_a_member_knows_to_be_decided_need_not_be_known_to_the_chooser():
    said = {0: report(held(1)), 1: report(held(4), commit=3)}
    assert choose(NOTHING, said, 2) == Chosen(ids(4), BatchId(3, hash_of(3)), is_far=True)


def test_two_batches_for_one_op_of_one_log_view_stop_the_group():
    with pytest.raises(Diverged, match="op 1: two members hold different batches"):
        choose(NOTHING, {0: report(held(1)), 1: report(held(1, branch="x"))}, 2)


# ---------------------------------------------------------------- the law


@dataclass(frozen=True)
class History:
    """What happened to one group, and which reports it leads to."""

    reports: dict[int, DoViewChange]
    decided: int
    length: int
    readable: frozenset[int]
    """Ops of the newest log that some member can read."""


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Draw a group: a log of the newest view that some have taken over, and what is left of it.

    Ops up to `start` are inherited from the view before. Outsiders hold those, too, and perhaps
    one more that lost; ops above `start` were acknowledged by members inside only.
    """
    members = draw(st.sampled_from([3, 5]))
    quorum = quorum_size(members)
    start = draw(st.integers(0, 3))
    length = start + draw(st.integers(0, 3))
    inside = draw(st.sets(st.integers(0, members - 1), min_size=1))
    durable = {slot: draw(st.integers(start, length)) for slot in sorted(inside)}
    reached = sorted(durable.values(), reverse=True)
    # Decided under the newest view by a quorum of it, or before it began.
    decided = reached[quorum - 1] if len(reached) >= quorum else draw(st.integers(0, start))
    damaged = {
        op: draw(st.sets(st.integers(0, members - 1), max_size=members - quorum))
        for op in range(1, length + 1)
    }
    reports = {
        slot: draw(_report_of(slot, durable.get(slot), start, decided, _ops_of(slot, damaged)))
        for slot in range(members)
    }
    return History(reports, decided, length, frozenset(_readable(reports)))


def _ops_of(slot: int, damaged: dict[int, set[int]]) -> set[int]:
    return {op for op, slots in damaged.items() if slot in slots}


@st.composite
def _report_of(
    draw: st.DrawFn, slot: int, durable_op: int | None, start: int, decided: int, damaged: set[int]
) -> DoViewChange:
    is_inside = durable_op is not None
    # What was decided before the view began is on a quorum of logs; here it is on all.
    head = durable_op if is_inside else draw(st.integers(min(decided, start), start))
    assert head is not None
    commit = draw(st.integers(0, min(head, decided)))
    unknown = 0
    if head > commit and head in damaged and draw(st.booleans()):
        head, unknown = head - 1, head
    suffix = [
        held(op, Place.DAMAGED if op in damaged else Place.DURABLE)
        for op in range(commit + 1, head + 1)
    ]
    log_view = 20 if is_inside else 10
    if not is_inside and not unknown and draw(st.booleans()):
        # It led alone for a while: nobody else has a log of that view.
        suffix.append(held(head + 1, branch="x", since=head + 1))
        log_view = slot
    return report(
        *suffix,
        log_view=log_view,
        commit=commit,
        start=start if is_inside else 0,
        unknown=unknown,
    )


def _readable(reports: dict[int, DoViewChange]) -> set[int]:
    """Return the ops of which some member has the batch of the newest log."""
    readable: set[int] = set()
    for said in reports.values():
        readable.update(range(1, said.commit.op + 1))
        readable.update(
            mine.op
            for mine in said.suffix
            if mine.place is Place.DURABLE and mine.hash == hash_of(mine.op)
        )
    return readable


@settings(max_examples=400)
@given(histories(), st.data())
def test_no_quorum_of_reports_drops_or_changes_what_was_decided(
    history: History, data: st.DataObject
):
    members = len(history.reports)
    slots = data.draw(
        st.lists(
            st.integers(0, members - 1),
            min_size=quorum_size(members),
            max_size=members,
            unique=True,
        )
    )
    said = {slot: history.reports[slot] for slot in slots}
    own = said[slots[0]].commit
    choice = choose(own, said, quorum_size(members))
    if isinstance(choice, Chosen):
        kept = [choice.commit if choice.is_far else own, *choice.links]
        assert kept[-1].op >= history.decided
        for link in kept:
            if link.op <= history.decided:
                assert link.hash == hash_of(link.op)


@settings(max_examples=400)
@given(histories())
def test_with_all_reports_only_what_nobody_can_read_stays_open(history: History):
    members = len(history.reports)
    own = history.reports[0].commit
    choice = choose(own, history.reports, quorum_size(members))
    if isinstance(choice, Undecided):
        assert choice.op not in history.readable
