"""Plans of pydantic v2 models, through the models' own serializers and validators.

Pydantic's JSON has traps of its own: NaN becomes null, sets come in hash order, a field
annotated with a base class loses what the subclass added, an alias may be written that
is not read. So what is about to be written is settled first and read back once.
"""

from __future__ import annotations

import math
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

import msgspec

from fusee.record.containers import OBJECT
from fusee.record.plan import Misfit, Plan, Unfit, class_of, describe
from fusee.record.scalars import NAIVE, NOT_FINITE, write

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class ModelPlan(Plan):
    """A pydantic model. Its private attributes and excluded fields are not stored."""

    __slots__ = ("by_alias", "cls")

    def __init__(self, label: str, cls: Any, root_kinds: frozenset[str] | None) -> None:
        super().__init__(label, root_kinds or OBJECT)
        config: Mapping[str, Any] = cls.model_config
        self.cls = cls
        self.by_alias = not (config.get("populate_by_name") or config.get("validate_by_name"))

    @property
    def keys(self) -> frozenset[str]:
        """All JSON names, by which a union tells classes apart."""
        fields = self.cls.model_fields.items()
        return frozenset((f.alias or name) if self.by_alias else name for name, f in fields)

    @property
    def required(self) -> frozenset[str]:
        """The JSON names that must be there."""
        fields = self.cls.model_fields.items()
        return frozenset(
            (f.alias or name) if self.by_alias else name for name, f in fields if f.is_required()
        )

    def accepts(self, value: Any) -> bool:
        return type(value) is self.cls

    def lower(self, value: Any) -> Any:
        if type(value) is not self.cls:
            if isinstance(value, self.cls):
                raise Misfit(f"expected exactly {self.label}, got its subclass {describe(value)}")
            raise self.misfit(value)
        try:
            written = self._dump(value, "json")
            settled = _settle(self._dump(value, "python"), written)
            data = write(settled)
            again = self.cls.__pydantic_validator__.validate_json(data)
        except Unfit:
            raise
        except Exception as exc:
            raise Unfit(f"{self.label} does not survive its own JSON: {exc}") from exc
        self._compare(value, again)
        return msgspec.Raw(data)

    def lift(self, raw: Any) -> Any:
        return read_model(self.cls, raw)

    def _dump(self, value: Any, mode: str) -> Any:
        return self.cls.__pydantic_serializer__.to_python(
            value, mode=mode, by_alias=self.by_alias, round_trip=True
        )

    def _compare(self, value: Any, again: Any) -> None:
        if value.__dict__ == again.__dict__ and _extra(value) == _extra(again):
            return
        for name, field in self.cls.model_fields.items():
            old, new = getattr(value, name), getattr(again, name)
            if field.exclude or old == new:
                continue
            # In the repeated hour of a zone, equal instants of two zones compare unequal.
            if isinstance(old, datetime) and old.timestamp() == new.timestamp():
                continue
            raise Unfit(f"it would come back with another value from {self.label}'s JSON").at(
                f".{name}"
            )
        if _extra(value) != _extra(again):
            raise Unfit(f"the extra fields of {self.label} would come back changed")


def _extra(model: Any) -> Any:
    return getattr(model, "__pydantic_extra__", None)


def read_model(cls: Any, raw: Any) -> Any:
    """Return the model that plain JSON stands for. Raises `Unfit`."""
    try:
        return cls.__pydantic_validator__.validate_json(write(raw))
    except Exception as exc:
        raise Unfit(f"expected {cls.__qualname__}: {exc}") from exc


def _settle(value: Any, written: Any) -> Any:
    """Return `written`, the JSON form of `value`, with sets in the order of their encodings."""
    cls = class_of(value)
    if issubclass(cls, float):
        if not math.isfinite(value) and not isinstance(written, str):
            raise Unfit(NOT_FINITE)
    elif issubclass(cls, datetime):
        if value.utcoffset() is None:
            raise Unfit(NAIVE)
    elif isinstance(written, list) and issubclass(cls, (list, tuple, set, frozenset)):
        items = _settle_items(value, cast("list[Any]", written))
        if issubclass(cls, (set, frozenset)):
            items.sort(key=write)
        return items
    elif isinstance(written, dict) and issubclass(cls, dict):
        members = cast("dict[str, Any]", written)
        items = _settle_items(value.values(), members.values())
        return dict(zip(members, items, strict=False))
    return cast("Any", written)


def _settle_items(values: Iterable[Any], written: Iterable[Any]) -> list[Any]:
    return [_settle(v, w) for v, w in zip(values, written, strict=False)]
