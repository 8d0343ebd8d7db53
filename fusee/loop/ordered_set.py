"""A set that iterates in the order of insertion.

It is a builtin set, so that everything asyncio and users ask of a set works, and a dict beside it
that holds the order. C code that copies a set (`set(x)`, `frozenset(x)`, `plain | x`) does not ask
for the order; what comes out then iterates by the members' hash, which for tasks and futures of a
run is one order too.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

T = TypeVar("T")


class OrderedSet(set[T]):
    """A set with one order."""

    __slots__ = ("_order",)

    def __init__(self, members: Iterable[T] = ()) -> None:
        self._order: dict[T, None] = dict.fromkeys(members)
        super().__init__(self._order)

    def __iter__(self) -> Iterator[T]:
        return iter(self._order)

    def __reduce__(self) -> tuple[Any, ...]:
        return (OrderedSet, (list(self._order),))

    def copy(self) -> OrderedSet[T]:
        """Return another set with the same members in the same order."""
        return OrderedSet(self._order)

    __copy__ = copy

    # ---------------------------------------------------------------- one member

    def add(self, member: T, /) -> None:
        """Append a member unless it is there."""
        self._order[member] = None
        super().add(member)

    def discard(self, member: Any, /) -> None:
        """Remove a member if it is there."""
        self._order.pop(member, None)
        super().discard(member)

    def remove(self, member: T, /) -> None:
        """Remove a member, or raise KeyError."""
        super().remove(member)
        del self._order[member]

    def pop(self) -> T:
        """Remove and return the first member."""
        for member in self._order:
            self.remove(member)
            return member
        raise KeyError("pop from an empty set")

    def clear(self) -> None:
        """Remove all members."""
        self._order.clear()
        super().clear()

    # ---------------------------------------------------------------- other sets

    def _settle(self, added: Iterable[T] = ()) -> None:
        """Bring the order in line with the members: old ones first, then those added."""
        self._order = {member: None for member in chain(self._order, added) if member in self}

    def update(self, *others: Iterable[T]) -> None:
        """Append the members of all others."""
        for member in chain(*others):
            self.add(member)

    def intersection_update(self, *others: Iterable[Any]) -> None:
        """Keep what is in all others."""
        super().intersection_update(*others)
        self._settle()

    def difference_update(self, *others: Iterable[Any]) -> None:
        """Keep what is in none of the others."""
        super().difference_update(*others)
        self._settle()

    def symmetric_difference_update(self, other: Iterable[T], /) -> None:
        """Keep what is in one of both."""
        added = list(other)
        super().symmetric_difference_update(added)
        self._settle(added)

    def union(self, *others: Iterable[Any]) -> OrderedSet[Any]:
        """Return what is in any."""
        result: OrderedSet[Any] = self.copy()
        result.update(*others)
        return result

    def intersection(self, *others: Iterable[Any]) -> OrderedSet[T]:
        """Return what is in all."""
        result = self.copy()
        result.intersection_update(*others)
        return result

    def difference(self, *others: Iterable[Any]) -> OrderedSet[T]:
        """Return what is in none of the others."""
        result = self.copy()
        result.difference_update(*others)
        return result

    def symmetric_difference(self, other: Iterable[Any], /) -> OrderedSet[Any]:
        """Return what is in one of both."""
        result: OrderedSet[Any] = self.copy()
        result.symmetric_difference_update(other)
        return result


def _operator(method: str, *, in_place: bool = False, reflected: bool = False) -> Any:
    def operate(self: OrderedSet[Any], other: Any) -> Any:
        if not isinstance(other, set | frozenset):
            return NotImplemented
        if in_place:
            getattr(self, method)(other)
            return self
        members = cast("set[Any]", other)
        if reflected:
            return getattr(OrderedSet(members), method)(self)
        return getattr(self, method)(members)

    return operate


for _sign, _method, _update in (
    ("or", "union", "update"),
    ("and", "intersection", "intersection_update"),
    ("sub", "difference", "difference_update"),
    ("xor", "symmetric_difference", "symmetric_difference_update"),
):
    setattr(OrderedSet, f"__{_sign}__", _operator(_method))
    setattr(OrderedSet, f"__r{_sign}__", _operator(_method, reflected=True))
    setattr(OrderedSet, f"__i{_sign}__", _operator(_update, in_place=True))
