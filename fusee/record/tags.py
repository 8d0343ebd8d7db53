"""Values without annotation: plain JSON, and a tag where JSON cannot say what it was.

    {"$fusee": ["decimal", "1.10"]}      a tag is an object with this one key
    {"$fusee": ["dict", {"$fusee": 1}]}  a user's dict that has the key itself

A dict that holds the key "$fusee" is always written in the second form, so an object
with that key is always a tag: users' data cannot be taken for one. Payloads without the
text `"$fusee"` hold no tag and are read at full speed.

Classes are written by name and read only if they are known: `know` is called with what
the annotations of registered workflows and messages reach. Bytes cannot pick a class.
"""

from __future__ import annotations

import math
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from operator import is_
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any
from uuid import UUID

from fusee.record.plan import SCALARS, Plan, Unfit, class_name, class_of, describe, usual_fix
from fusee.record.scalars import IP_CLASSES, NOT_FINITE, SCALAR_PLANS, as_array, as_object, write

if TYPE_CHECKING:
    from collections.abc import Callable

KEY = "$fusee"
MARK = b'"$fusee"'
"""What the bytes of a payload with tags contain."""

ALL_KINDS: frozenset[str] = frozenset(("null", "bool", "int", "float", "str", "array", "object"))
_SCALAR_NAMES: dict[type, str] = {
    bytes: "bytes",
    bytearray: "bytearray",
    Decimal: "decimal",
    UUID: "uuid",
    datetime: "datetime",
    date: "date",
    time: "time",
    timedelta: "timedelta",
    PurePosixPath: "posixpath",
    PureWindowsPath: "windowspath",
    type(Path()): "path",
    **{cls: cls.__name__.lower() for cls in IP_CLASSES},
}
_ARRAY_NAMES: dict[type, str] = {tuple: "tuple", set: "set", frozenset: "frozenset"}

_known: dict[str, Plan] = {}


def know(cls: type, plan: Plan) -> None:
    """Allow values of `cls` without annotation."""
    _known[class_name(cls)] = plan


class AnyPlan(Plan):
    """A value without annotation."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("Any", ALL_KINDS, SCALARS)
        self.open = True

    def accepts(self, value: Any) -> bool:
        return True

    def lower(self, value: Any) -> Any:
        cls: type[Any] = type(value)  # pyright: ignore[reportUnknownVariableType]
        if cls in SCALARS:
            return value
        if cls is float:
            if not math.isfinite(value):
                raise Unfit(NOT_FINITE)
            return value
        if cls is dict:
            return self._lower_dict(value)
        if cls is list:
            if {*map(type, value)} <= SCALARS:
                return value
            out = self._lower_items(value)
            return value if all(map(is_, out, value)) else out
        if cls in _SCALAR_NAMES:
            return {KEY: (_SCALAR_NAMES[cls], SCALAR_PLANS[cls].lower(value))}
        if cls in _ARRAY_NAMES:
            items = self._lower_items(value)
            if cls is not tuple:
                items.sort(key=write)
            return {KEY: (_ARRAY_NAMES[cls], items)}
        return self._lower_object(value)

    def _lower_items(self, value: Any) -> list[Any]:
        out: list[Any] = []
        try:
            for item in value:
                out.append(self.lower(item))  # noqa: PERF401 - the length names the item
        except Unfit as unfit:
            raise unfit.at(f"[{len(out)}]") from None
        return out

    def _lower_dict(self, value: dict[Any, Any]) -> dict[str, Any]:
        if value and {*map(type, value)} != {str}:
            key = next(key for key in value if type(key) is not str)
            raise Unfit(
                f"the key {key!r:.80} is not a str; annotate the keys' type, "
                f"for example dict[{type(key).__name__}, ...], or convert the keys"
            )
        if not {*map(type, value.values())} <= SCALARS:
            out: dict[str, Any] = {}
            for key, item in value.items():
                try:
                    out[key] = self.lower(item)
                except Unfit as unfit:
                    raise unfit.at(f"[{key!r:.80}]") from None
            value = out
        return {KEY: ("dict", value)} if KEY in value else value

    def _lower_object(self, value: Any) -> Any:
        name = class_name(class_of(value))
        plan = _known.get(name)
        if plan is None or not plan.accepts(value):
            fix = usual_fix(value)
            raise Unfit(
                f"it is {fix}"
                if fix
                else f"it is a {describe(value)}, which cannot be read back without an "
                "annotation; annotate the return type, parameter or field"
            )
        return {KEY: ("object", name, plan.lower(value))}

    def lift(self, raw: Any) -> Any:
        plain: Any = raw
        if type(raw) is list:
            return self._lift_items(plain)
        return self._lift_object(plain) if type(raw) is dict else raw

    def _lift_items(self, items: list[Any]) -> list[Any]:
        return [self.lift(item) for item in items]

    def _lift_members(self, members: dict[str, Any]) -> dict[str, Any]:
        return {key: self.lift(item) for key, item in members.items()}

    def _lift_object(self, members: dict[str, Any]) -> Any:
        if KEY not in members:
            return self._lift_members(members)
        tag = as_array(members[KEY], "a tag")
        if len(members) != 1 or len(tag) < 2 or type(tag[0]) is not str:
            raise Unfit(f"an object with the key {KEY!r} is not a tag")
        name, body = tag[0], tag[1]
        if name == "object" and len(tag) == 3:
            return self._lift_class(body, tag[2])
        if name == "dict":
            return self._lift_members(as_object(body, "a dict"))
        if name in _SCALARS_BY_NAME:
            return SCALAR_PLANS[_SCALARS_BY_NAME[name]].lift(body)
        if name in _ARRAYS_BY_NAME:
            try:
                return _ARRAYS_BY_NAME[name](self._lift_items(as_array(body, f"a {name}")))
            except TypeError as exc:
                raise Unfit(f"a {name} cannot hold these items: {exc}") from None
        raise Unfit(f"the tag {name!r:.80} is not known; a newer version may have written it")

    def _lift_class(self, name: Any, body: Any) -> Any:
        plan = _known.get(name) if type(name) is str else None
        if plan is None:
            raise Unfit(
                f"the class {name!r:.80} is not in any annotation of a registered workflow or "
                "message; annotate the value, or register what uses the class"
            )
        return plan.lift(body)


ANY = AnyPlan()

_SCALARS_BY_NAME = {name: cls for cls, name in _SCALAR_NAMES.items()}
_ARRAYS_BY_NAME: dict[str, Callable[[list[Any]], Any]] = {
    name: cls for cls, name in _ARRAY_NAMES.items()
}
