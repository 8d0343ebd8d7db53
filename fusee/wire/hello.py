"""The first words of a connection between replicas: who calls, whom it wants, who is let in.

    caller --Hello--> listener --Welcome or Refused--> caller

Nothing else is read before. Both sides check every claim against their own table of members
and, where the connection is TLS, against the other's certificate; a message that follows needs
no sender's name, because the connection has one. A refusal is an answer that says what to do:
with TLS 1.3 a caller whose certificate was refused sees a finished handshake and then an end.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from fusee.base.limits import MEMBERS_MAX

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from fusee.log.superblock import Member

PEER_FORMAT = 1
"""Of the messages behind the hello. Replicas of two formats do not talk."""

Identity = Annotated[bytes, Meta(min_length=16, max_length=16)]
Slot = Annotated[int, Meta(ge=0, lt=MEMBERS_MAX)]
Number = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Text = Annotated[str, Meta(max_length=500)]


class Purpose(StrEnum):
    """What a connection is for."""

    PROTOCOL = "protocol"
    """Between replicas: messages of the group, none larger than a batch."""
    CALLS = "calls"
    """Between replicas: what applications ask of the primary."""


class Refusal(StrEnum):
    """Why a replica is not let in, or not believed."""

    OTHER_FORMAT = "other_format"
    UNKNOWN_CLUSTER = "unknown_cluster"
    NOT_INITIALISED = "not_initialised"
    OTHER_REPLICA = "other_replica"
    """The address leads to another member than the caller wants."""
    INDEX_MISMATCH = "index_mismatch"
    """The certificate is of another replica, or of none."""
    NOT_A_MEMBER = "not_a_member"
    OTHER_INCARNATION = "other_incarnation"
    """The slot belongs to another directory: this one was wiped, restored, or replaced."""


class Hello(msgspec.Struct, frozen=True, array_like=True, tag="hello"):
    """What a caller says of itself. `format` comes first and stays first for ever."""

    format: int
    group_id: Identity
    slot: Slot
    incarnation: Identity
    epoch: Number
    wants: Slot
    purpose: Purpose
    version: Text
    """The caller's release, for people."""


class Welcome(msgspec.Struct, frozen=True, array_like=True, tag="welcome"):
    """What a listener says of itself to a caller that it lets in."""

    format: int
    group_id: Identity
    slot: Slot
    incarnation: Identity
    epoch: Number
    version: Text


class Refused(msgspec.Struct, frozen=True, array_like=True, tag="refused"):
    """No, and what to do about it."""

    reason: Refusal
    text: Text


class Peer(msgspec.Struct, frozen=True):
    """Who is at the other end of a connection that was let in."""

    slot: int
    incarnation: bytes
    epoch: int
    purpose: Purpose


class Self(msgspec.Struct, frozen=True):
    """What a replica knows of itself and its group. Without `members` it is blank."""

    cluster: str
    slot: int
    incarnation: bytes
    version: str
    group_id: bytes = bytes(16)
    epoch: int = 0
    members: tuple[Member, ...] = ()


def certificate_name(cluster: str, replica: str) -> str:
    """Return the DNS name that a replica's certificate carries as subjectAltName."""
    return f"{replica}.{cluster}.fusee.internal"


def hello_of(me: Self, wants: int, purpose: Purpose) -> Hello:
    """Return what a replica says first when it calls another one."""
    return Hello(
        PEER_FORMAT, me.group_id, me.slot, me.incarnation, me.epoch, wants, purpose, me.version
    )


def answer(me: Self, hello: Hello, names: AbstractSet[str] | None) -> Welcome | Refused:
    """Let a caller in, or say why not.

    `names` are the subjectAltNames of its certificate; None on a connection without TLS.
    """
    refused = _refused_group(me, hello)
    if refused is not None:
        return refused
    if hello.incarnation == me.incarnation:
        return Refused(Refusal.OTHER_REPLICA, "a replica's address leads to the replica itself")
    if hello.wants != me.slot:
        return Refused(
            Refusal.OTHER_REPLICA,
            f"this is {_label(me, me.slot)}, and {_label(me, hello.wants)} is wanted: check the"
            " addresses in the table of members",
        )
    refused = _refused_member(me, hello.slot, hello.incarnation, hello.epoch, names)
    if refused is not None:
        return refused
    return Welcome(PEER_FORMAT, me.group_id, me.slot, me.incarnation, me.epoch, me.version)


def check_welcome(
    me: Self, wanted: int, welcome: Welcome, names: AbstractSet[str] | None
) -> Refused | None:
    """Return why a listener is not believed, None if it is the member that was wanted."""
    if welcome.format != PEER_FORMAT or welcome.group_id != me.group_id:
        return Refused(Refusal.UNKNOWN_CLUSTER, "the address leads into another cluster")
    if welcome.slot != wanted:
        return Refused(
            Refusal.OTHER_REPLICA,
            f"the address of {_label(me, wanted)} leads to {_label(me, welcome.slot)}",
        )
    return _refused_member(me, welcome.slot, welcome.incarnation, welcome.epoch, names)


def _refused_group(me: Self, hello: Hello) -> Refused | None:
    if hello.format != PEER_FORMAT:
        return Refused(
            Refusal.OTHER_FORMAT,
            f"release {me.version} speaks format {PEER_FORMAT} and {hello.version} speaks"
            f" {hello.format}: upgrade through a release that speaks both",
        )
    if not me.members:
        return Refused(
            Refusal.NOT_INITIALISED,
            "this replica belongs to no group yet: run `fusee cluster init` or"
            " `fusee cluster replace`",
        )
    if hello.group_id != me.group_id:
        return Refused(
            Refusal.UNKNOWN_CLUSTER,
            f"this is a replica of group {me.group_id.hex()}, and {hello.group_id.hex()} calls:"
            " an address is wrong, or a directory is of another cluster",
        )
    return None


def _refused_member(
    me: Self, slot: int, incarnation: bytes, epoch: int, names: AbstractSet[str] | None
) -> Refused | None:
    """The other is to be the member that the own table has in its slot (L-1, L-2)."""
    # Who knows a later table may be anybody of this cluster (M-5): this replica is to learn of
    # that table, and until then messages of another epoch do not count.
    is_later = epoch > me.epoch
    member = _member(me, slot)
    if member is None and not is_later:
        return Refused(
            Refusal.NOT_A_MEMBER,
            f"slot {slot} is not in the table of epoch {me.epoch}: this replica was removed, or"
            " belongs elsewhere",
        )
    if member is not None and not is_later and member.incarnation != incarnation:
        return Refused(
            Refusal.OTHER_INCARNATION,
            f"{_label(me, slot)} is another directory in epoch {me.epoch}. A replica that lost"
            " its directory does not come back under its old identity: run"
            " `fusee cluster replace`",
        )
    name = "" if is_later or member is None else member.name
    return _refused_certificate(me.cluster, name, names) if names is not None else None


def _refused_certificate(cluster: str, replica: str, names: AbstractSet[str]) -> Refused | None:
    """The certificate is to be of that replica, or of any of the cluster where none is named."""
    wanted = certificate_name(cluster, replica)
    if any(name == wanted if replica else name.endswith(wanted) for name in names):
        return None
    found = ", ".join(sorted(names)[:4]) or "no name at all"
    return Refused(
        Refusal.INDEX_MISMATCH,
        f"the certificate is for {found[:200]}, and {wanted if replica else '*' + wanted} is"
        " expected as its subjectAltName",
    )


def _member(me: Self, slot: int) -> Member | None:
    return next((member for member in me.members if member.slot == slot), None)


def _label(me: Self, slot: int) -> str:
    member = _member(me, slot)
    return f"replica {member.name} (slot {slot})" if member is not None else f"slot {slot}"
