"""Plans of values with parts: lists, sets, tuples, dicts and unions of plans.

The common case is kept at the speed of C: one comparison of the set of item types with
`plain` replaces a call per item. Only items that need a look are visited one by one, and
a container whose items all stay as they are is handed to msgspec itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import is_
from typing import TYPE_CHECKING, Any, cast

import msgspec

from fusee.record.plan import Misfit, Plan, Unfit, describe
from fusee.record.scalars import NUMBER, as_array, as_object, kind_of, write

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ARRAY: frozenset[str] = frozenset(("array",))
OBJECT: frozenset[str] = frozenset(("object",))


def lower_items(item: Plan, values: Iterable[Any]) -> list[Any]:
    """Return the lowered items; an error says which item."""
    lower = item.lower
    out: list[Any] = []
    append = out.append
    try:
        for value in values:
            append(lower(value))
    except Unfit as unfit:
        raise unfit.at(f"[{len(out)}]") from None
    return out


def lift_items(item: Plan, raw: Any, label: str) -> list[Any]:
    """Return the lifted items of a JSON array; an error says which item."""
    out: list[Any] = []
    try:
        for value in as_array(raw, label):
            out.append(item.lift(value))  # noqa: PERF401 - the length names the item
    except Unfit as unfit:
        raise unfit.at(f"[{len(out)}]") from None
    return out


class _ItemsPlan(Plan):
    """Any number of items of one annotation."""

    __slots__ = ("accepted", "base", "item")

    def __init__(self, label: str, item: Plan, base: type, accepted: tuple[type[Any], ...]) -> None:
        super().__init__(label, ARRAY)
        self.item = item
        self.base = base
        self.accepted = accepted

    def children(self) -> tuple[Plan, ...]:
        return (self.item,)

    def accepts(self, value: Any) -> bool:
        return isinstance(value, self.accepted)


class ListPlan(_ItemsPlan):
    """A list, or a tuple of any length."""

    __slots__ = ()

    def lower(self, value: Any) -> Any:
        if not isinstance(value, self.accepted):
            raise self.misfit(value)
        if {*map(type, value)} <= self.item.plain:
            return value
        out = lower_items(self.item, value)
        return value if all(map(is_, out, value)) else out

    def lift(self, raw: Any) -> Any:
        items = lift_items(self.item, raw, self.label)
        return items if self.base is list else self.base(items)


class SetPlan(_ItemsPlan):
    """A set or frozenset, written in the order of its items' encodings."""

    __slots__ = ()

    def lower(self, value: Any) -> Any:
        if not isinstance(value, self.accepted):
            raise self.misfit(value)
        items = list(value)
        if not {*map(type, items)} <= self.item.plain:
            try:
                items = [self.item.lower(one) for one in items]
            except Unfit as unfit:
                raise unfit.at("{}") from None
        items.sort(key=write)
        return items

    def lift(self, raw: Any) -> Any:
        items = lift_items(self.item, raw, self.label)
        try:
            return self.base(items)
        except TypeError as exc:
            raise Unfit(f"{self.label} cannot hold these items: {exc}") from None


class TuplePlan(Plan):
    """A tuple of known length, or a NamedTuple whose missing tail has defaults."""

    __slots__ = ("base", "defaults", "items", "names")

    def __init__(
        self,
        label: str,
        base: Any = tuple,
        names: tuple[str, ...] = (),
        defaults: tuple[Any, ...] = (),
    ) -> None:
        super().__init__(label, ARRAY)
        self.base = base
        self.names = names
        self.defaults = defaults
        self.items: tuple[Plan, ...] = ()

    def children(self) -> tuple[Plan, ...]:
        return self.items

    def accepts(self, value: Any) -> bool:
        if self.base is tuple:
            return isinstance(value, tuple)
        return type(value) is self.base

    def _step(self, index: int) -> str:
        return f".{self.names[index]}" if self.names else f"[{index}]"

    def lower(self, value: Any) -> Any:
        if not self.accepts(value):
            raise self.misfit(value)
        if len(value) != len(self.items):
            raise Misfit(f"expected {self.label}, got a tuple of {len(value)}")
        out: list[Any] = []
        for plan, item in zip(self.items, value, strict=True):
            try:
                out.append(item if type(item) in plan.plain else plan.lower(item))
            except Unfit as unfit:
                raise unfit.at(self._step(len(out))) from None
        return value if all(map(is_, out, value)) else out

    def lift(self, raw: Any) -> Any:
        items = as_array(raw, self.label)
        least = len(self.items) - len(self.defaults)
        # NamedTuples may have grown or shrunk at the end; plain tuples must match.
        if len(items) < least or not (self.names or len(items) == least):
            raise Misfit(f"expected {self.label}, got an array of {len(items)}")
        out: list[Any] = []
        for plan, item in zip(self.items, items, strict=False):
            try:
                out.append(plan.lift(item))
            except Unfit as unfit:
                raise unfit.at(self._step(len(out))) from None
        out.extend(self.defaults[len(out) - least :])
        return tuple(out) if self.base is tuple else self.base._make(out)


class DictPlan(Plan):
    """A dict. Keys are text in JSON; the annotation brings ints, enums, dates back."""

    __slots__ = ("key", "key_type", "value")

    def __init__(self, label: str, key: Plan, key_type: Any, value: Plan) -> None:
        super().__init__(label, OBJECT)
        self.key = key
        self.key_type = key_type
        """What msgspec reads keys as; None for text."""
        self.value = value

    def children(self) -> tuple[Plan, ...]:
        return (self.key, self.value)

    def accepts(self, value: Any) -> bool:
        return isinstance(value, Mapping)

    def lower(self, value: Any) -> Any:
        if not isinstance(value, dict):
            raise self.misfit(value)
        members = cast("dict[Any, Any]", value)
        keys: Iterable[Any] = members
        if not {*map(type, members)} <= self.key.plain:
            keys = [self._lower_key(key) for key in members]
        values: Iterable[Any] = members.values()
        if not {*map(type, values)} <= self.value.plain:
            values = self._lower_values(members)
        elif keys is members:
            return members
        return dict(zip(keys, values, strict=True))

    def _lower_key(self, key: Any) -> Any:
        try:
            return self.key.lower(key)
        except Unfit as unfit:
            unfit.text = (
                f"the key {key!r:.80} does not fit {self.label}; annotate the keys' type, "
                "for example dict[int, ...], or convert them to str"
            )
            raise unfit from None

    def _lower_values(self, value: dict[Any, Any]) -> list[Any]:
        out: list[Any] = []
        lower = self.value.lower
        for key, item in value.items():
            try:
                out.append(lower(item))
            except Unfit as unfit:
                raise unfit.at(f"[{key!r:.80}]") from None
        return out

    def lift(self, raw: Any) -> Any:
        members = as_object(raw, self.label)
        out: dict[Any, Any] = {}
        for key, item in zip(self._lift_keys(members), members.values(), strict=False):
            try:
                out[key] = self.value.lift(item)
            except Unfit as unfit:
                raise unfit.at(f"[{key!r:.80}]") from None
        return out

    def _lift_keys(self, members: dict[str, Any]) -> Iterable[Any]:
        if self.key_type is None:
            return members
        wanted = dict[self.key_type, None]  # type: ignore[name-defined]
        keys: Iterable[Any]
        try:
            keys = msgspec.convert(dict.fromkeys(members), wanted, str_keys=True)
        except msgspec.ValidationError as exc:
            raise Unfit(f"a key does not fit {self.label}: {exc}") from None
        return keys


class UnionPlan(Plan):
    """One of several types, told apart by the kind of JSON, a tag, or their required fields."""

    __slots__ = ("members",)

    def __init__(self, label: str, members: Sequence[Plan]) -> None:
        super().__init__(label, frozenset[str]().union(*(m.kinds for m in members)))
        # An int must meet `int` before `float`, which would take it too.
        self.members = tuple(sorted(members, key=lambda m: m.kinds == NUMBER))
        self.plain = frozenset[type]().union(*(m.plain for m in self.members))

    def children(self) -> tuple[Plan, ...]:
        return self.members

    def accepts(self, value: Any) -> bool:
        return any(m.accepts(value) for m in self.members)

    def lower(self, value: Any) -> Any:
        if type(value) in self.plain:
            return value
        for member in self.members:
            if member.accepts(value):
                return member.lower(value)
        raise Misfit(f"expected {self.label}, got {describe(value)}")

    def lift(self, raw: Any) -> Any:
        kind = kind_of(raw)
        failed: Unfit | None = None
        for member in self.members:
            if kind in member.kinds:
                try:
                    return member.lift(raw)
                except Unfit as unfit:
                    failed = unfit
        raise failed or Misfit(f"expected {self.label}, got {kind}")
