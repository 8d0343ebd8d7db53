"""Who is let in: each claim is checked by both sides, and a refusal says what to do."""

from __future__ import annotations

import msgspec
import pytest

from fusee.wire.hello import (
    PEER_FORMAT,
    Purpose,
    Refusal,
    Refused,
    Welcome,
    answer,
    check_welcome,
    hello_of,
)
from tests.wire.groups import blank, certificate, replica


def call(caller, listener, *, names=None, wants=1):
    return answer(listener, hello_of(caller, wants, Purpose.PROTOCOL), names)


def test_a_member_is_let_in_and_told_who_answers():
    me = replica("b")
    welcome = call(replica("a"), me)
    assert welcome == Welcome(PEER_FORMAT, me.group_id, 1, me.incarnation, 1, "1.2.3")
    assert check_welcome(replica("a"), 1, welcome, None) is None


@pytest.mark.parametrize(
    ("caller", "listener", "reason", "advice"),
    [
        (replica("a", group=b"another group!!!"), replica("b"), "unknown_cluster", "directory"),
        (replica("a"), blank("b"), "not_initialised", "fusee cluster init"),
        (replica("a"), replica("c"), "other_replica", "replica c (slot 2)"),
        (replica("b"), replica("b"), "other_replica", "itself"),
        (replica("a", life=7), replica("b"), "other_incarnation", "fusee cluster replace"),
        (replica("a"), replica("b", epoch=2, a=1), "other_incarnation", "in epoch 2"),
    ],
)
def test_who_does_not_belong_is_refused_by_name(caller, listener, reason, advice):
    refused = call(caller, listener)
    assert isinstance(refused, Refused)
    assert refused.reason == reason
    assert advice in refused.text


def test_a_slot_that_is_not_in_the_table_is_no_member():
    me = replica("b")
    smaller = msgspec.structs.replace(me, members=me.members[1:])
    refused = call(replica("a"), smaller)
    assert isinstance(refused, Refused)
    assert refused.reason is Refusal.NOT_A_MEMBER


def test_who_knows_a_later_table_is_let_in_for_this_replica_is_to_learn_of_it():
    assert isinstance(call(replica("a", epoch=2, life=1, a=1), replica("b")), Welcome)


def test_another_format_is_refused_with_both_releases():
    hello = hello_of(replica("a"), 1, Purpose.PROTOCOL)
    hello = msgspec.structs.replace(hello, format=PEER_FORMAT + 1, version="9.0")
    refused = answer(replica("b"), hello, None)
    assert isinstance(refused, Refused)
    assert refused.reason is Refusal.OTHER_FORMAT
    assert "1.2.3" in refused.text
    assert "9.0" in refused.text


@pytest.mark.parametrize(
    "names",
    [
        certificate("c"),
        certificate("a", cluster="payments"),
        frozenset({"a.orders.fusee.internal.example.org"}),
        frozenset[str](),
    ],
)
def test_a_certificate_of_another_replica_does_not_serve(names):
    for refused in (
        call(replica("a"), replica("b"), names=names),
        check_welcome(replica("b"), 0, call(replica("b"), replica("a"), wants=0), names),
    ):
        assert isinstance(refused, Refused)
        assert refused.reason is Refusal.INDEX_MISMATCH
        assert "a.orders.fusee.internal" in refused.text


def test_a_certificate_may_name_other_things_too():
    names = certificate("a") | {"10-0-0-1.example.org"}
    assert isinstance(call(replica("a"), replica("b"), names=names), Welcome)


def test_a_later_table_needs_a_certificate_of_the_same_cluster():
    caller = replica("a", epoch=2, life=1, a=1)
    assert isinstance(call(caller, replica("b"), names=certificate("new")), Welcome)
    refused = call(caller, replica("b"), names=certificate("new", cluster="payments"))
    assert isinstance(refused, Refused)


def test_a_listener_that_is_another_one_is_not_believed():
    me = replica("a")
    for welcome, reason in (
        (call(replica("a"), replica("c"), wants=2), Refusal.OTHER_REPLICA),
        (
            Welcome(PEER_FORMAT, b"another group!!!", 1, bytes(16), 1, "1.2.3"),
            Refusal.UNKNOWN_CLUSTER,
        ),
        (
            Welcome(PEER_FORMAT, me.group_id, 1, b"another boot dir", 1, "1.2.3"),
            Refusal.OTHER_INCARNATION,
        ),
    ):
        refused = check_welcome(me, 1, welcome, None)
        assert refused is not None
        assert refused.reason is reason
