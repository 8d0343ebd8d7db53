"""A group of three, as each of its replicas knows it."""

from __future__ import annotations

from fusee.log.superblock import Member
from fusee.wire.hello import Self, certificate_name

GROUP = b"the group we try"
NAMES = ("a", "b", "c")


def incarnation(slot: int, life: int = 0) -> bytes:
    return bytes([life]) * 15 + bytes([slot])


def members(**lives: int) -> tuple[Member, ...]:
    return tuple(
        Member(slot, name, f"{name}:7001", incarnation(slot, lives.get(name, 0)))
        for slot, name in enumerate(NAMES)
    )


def replica(name: str, *, epoch: int = 1, life: int = 0, group: bytes = GROUP, **lives: int):
    """What a replica knows; `lives` are the incarnations that it has in its table."""
    slot = NAMES.index(name)
    return Self("orders", slot, incarnation(slot, life), "1.2.3", group, epoch, members(**lives))


def blank(name: str) -> Self:
    slot = NAMES.index(name)
    return Self("orders", slot, incarnation(slot), "1.2.3")


def certificate(*names: str, cluster: str = "orders") -> frozenset[str]:
    return frozenset(certificate_name(cluster, name) for name in names)
