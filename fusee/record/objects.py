"""Plans of classes with named fields: dataclasses, attrs, Structs, TypedDicts.

A value must be of exactly the annotated class: msgspec would write the fields of a
subclass and read the base, and nobody would be told.
"""

from __future__ import annotations

import copy
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

import msgspec

from fusee.record.containers import ARRAY, OBJECT
from fusee.record.plan import Misfit, Plan, Unfit, describe
from fusee.record.scalars import as_array, as_object

if TYPE_CHECKING:
    from collections.abc import Callable

    from fusee.record.hints import Field

_SEEN_MAX = 64
_UNSET: Any = msgspec.NODEFAULT


class ObjectPlan(Plan):
    """A class with fields. `complete` is called once the plans of the fields are known."""

    __slots__ = ("cls", "fields", "get", "names", "plains", "plans", "seen")

    def __init__(self, label: str, cls: Any) -> None:
        super().__init__(label, OBJECT)
        self.cls = cls
        self.fields: tuple[Field, ...] = ()
        self.plans: tuple[Plan, ...] = ()
        self.names: tuple[str, ...] = ()
        self.plains: tuple[frozenset[type], ...] = ()
        self.seen: set[tuple[type, ...]] = set()
        """Types of field values that were found plain together; saves a test per field."""
        self.get: Callable[[Any], tuple[Any, ...]] = lambda value: ()

    def complete(self, fields: tuple[Field, ...], plans: tuple[Plan, ...]) -> None:
        """Set the fields; apart from the constructor since classes may refer to themselves."""
        self.fields = fields
        self.plans = plans
        self.names = tuple(f.name for f in fields)
        self.get = _getter(self.names)
        self.plains = tuple(plan.plain for plan in plans)

    def children(self) -> tuple[Plan, ...]:
        return self.plans

    @property
    def required(self) -> frozenset[str]:
        """The JSON names that must be there, by which a union tells classes apart."""
        return frozenset(f.key for f in self.fields if f.required)

    @property
    def keys(self) -> frozenset[str]:
        """All JSON names of this class."""
        return frozenset(f.key for f in self.fields)

    def accepts(self, value: Any) -> bool:
        return type(value) is self.cls

    def lower(self, value: Any) -> Any:
        if type(value) is not self.cls:
            raise self._wrong_class(value)
        try:
            values = self.get(value)
        except AttributeError as exc:
            raise Unfit(f"a {self.label} lacks a field: {exc}") from None
        types = tuple(map(type, values))
        return value if types in self.seen else self._lower_new(value, values, types)

    def _lower_new(self, value: Any, values: tuple[Any, ...], types: tuple[type, ...]) -> Any:
        for cls, plain in zip(types, self.plains, strict=True):
            if cls not in plain:
                return self._lower_each(value, values)
        if len(self.seen) < _SEEN_MAX:
            self.seen.add(types)
        return value

    def _lower_each(self, value: Any, values: tuple[Any, ...]) -> Any:
        changed: dict[str, Any] = {}
        for name, plan, item in zip(self.names, self.plans, values, strict=True):
            if type(item) in plan.plain:
                continue
            try:
                lowered = plan.lower(item)
            except Unfit as unfit:
                raise unfit.at(f".{name}") from None
            if lowered is not item:
                changed[name] = lowered
        return self._rewritten(value, values, changed) if changed else value

    def _rewritten(self, value: Any, values: tuple[Any, ...], changed: dict[str, Any]) -> Any:
        return dict(zip(self.names, values, strict=True)) | changed

    def _wrong_class(self, value: Any) -> Misfit:
        if isinstance(value, self.cls):
            return Misfit(
                f"expected exactly {self.label}, got its subclass {describe(value)}; "
                "annotate the subclass, or a union of tagged Structs"
            )
        return self.misfit(value)

    def lift(self, raw: Any) -> Any:
        return self._build(self._lift_fields(raw))

    def _lift_fields(self, raw: Any) -> dict[str, Any]:
        members = as_object(raw, self.label)
        out: dict[str, Any] = {}
        for field, plan in zip(self.fields, self.plans, strict=True):
            item = members.get(field.key, _UNSET)
            if item is not _UNSET:
                try:
                    out[field.name] = plan.lift(item)
                except Unfit as unfit:
                    raise unfit.at(f".{field.name}") from None
            elif field.required:
                raise Unfit(f"{self.label} lacks the required field {field.key!r}")
        return out

    def _build(self, values: dict[str, Any]) -> Any:
        # As msgspec does: the constructor is user code and may ask for other arguments.
        instance = object.__new__(self.cls)
        for field in self.fields:
            if field.name in values:
                item = values[field.name]
            elif field.factory is not _UNSET:
                item = field.factory()
            else:
                item = copy.copy(field.default)
            object.__setattr__(instance, field.name, item)
        for hook in ("__post_init__", "__attrs_post_init__"):
            if hasattr(instance, hook):
                getattr(instance, hook)()
        return instance


class StructPlan(ObjectPlan):
    """A msgspec Struct, whose own config says how it is written."""

    __slots__ = ("config",)

    def __init__(self, label: str, cls: Any) -> None:
        super().__init__(label, cls)
        self.config = cls.__struct_config__
        if self.config.array_like:
            self.kinds = ARRAY

    def _rewritten(self, value: Any, values: tuple[Any, ...], changed: dict[str, Any]) -> Any:
        # A copy keeps renames, tags and array form in msgspec's hands.
        clone = copy.copy(value)
        for name, item in changed.items():
            msgspec.structs.force_setattr(clone, name, item)
        return clone

    def lift(self, raw: Any) -> Any:
        tag, tag_field = self.config.tag, self.config.tag_field
        if self.config.array_like:
            items = as_array(raw, self.label)
            if tag is not None:
                if items[:1] != [tag]:
                    raise Misfit(f"expected {self.label} with tag {tag!r}")
                items = items[1:]
            raw = dict(zip((f.key for f in self.fields), items, strict=False))
        elif tag is not None and as_object(raw, self.label).get(tag_field, tag) != tag:
            raise Misfit(f"expected {self.label} with tag {tag!r}")
        return self._build(self._lift_fields(raw))

    def _build(self, values: dict[str, Any]) -> Any:
        return self.cls(**values)


class TypedDictPlan(ObjectPlan):
    """A TypedDict: a dict with exactly the declared keys."""

    __slots__ = ()

    def accepts(self, value: Any) -> bool:
        return isinstance(value, dict)

    def lower(self, value: Any) -> Any:
        if not isinstance(value, dict):
            raise self.misfit(value)
        members = cast("dict[Any, Any]", value)
        out: dict[str, Any] = {}
        for name, plan, field in zip(self.names, self.plans, self.fields, strict=True):
            if name in members:
                try:
                    out[name] = plan.lower(members[name])
                except Unfit as unfit:
                    raise unfit.at(f"[{name!r}]") from None
            elif field.required:
                raise Misfit(f"{self.label} lacks the required key {name!r}")
        for key in members:
            if key not in out:
                raise Misfit(f"{self.label} does not declare the key {key!r:.80}; it would be lost")
        return out

    def _build(self, values: dict[str, Any]) -> Any:
        return values


def _getter(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    if not names:
        return lambda value: ()
    if len(names) == 1:
        one = attrgetter(names[0])
        return lambda value: (one(value),)
    return attrgetter(*names)
