"""From annotation to plan. What cannot be stored is refused here, at registration.

The table of types is in docs/internals/payloads.md. Unions are told apart by the kind of
JSON their members are; classes in a union by their tags, or by required fields the
others do not have. A union that could be read two ways is refused: it would fail, or
worse, succeed as the wrong class, at some later call.
"""

from __future__ import annotations

import collections
import collections.abc as cabc
import copy
import inspect
import types
import typing
from enum import Enum
from itertools import combinations
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from fusee.record import hints
from fusee.record.containers import OBJECT, DictPlan, ListPlan, SetPlan, TuplePlan, UnionPlan
from fusee.record.foreign import ModelPlan, read_model
from fusee.record.objects import ObjectPlan, StructPlan, TypedDictPlan
from fusee.record.plan import NOTHING, Plan, Unfit, class_of, reachable
from fusee.record.scalars import (
    INT,
    SCALAR_PLANS,
    Choice,
    EnumScalar,
    FloatScalar,
    Scalar,
    kind_of,
    read_text_form,
    write,
)
from fusee.record.tags import ANY, know

_LISTS = {
    list: (list,),
    cabc.Sequence: (list, tuple),
    cabc.MutableSequence: (list,),
    cabc.Collection: (list, tuple),
}
_SETS: dict[Any, tuple[type, tuple[type, ...]]] = {
    set: (set, (set,)),
    frozenset: (frozenset, (frozenset,)),
    cabc.Set: (set, (set, frozenset)),
    cabc.MutableSet: (set, (set,)),
}
_DICTS = (dict, cabc.Mapping, cabc.MutableMapping)
_INSTEAD: dict[Any, str] = {
    collections.deque: "list",
    collections.defaultdict: "dict",
    collections.OrderedDict: "dict",
    collections.Counter: "dict[..., int]",
    cabc.Iterable: "list",
    cabc.Iterator: "list",
    cabc.Generator: "list",
    cabc.AsyncIterable: "list",
    cabc.AsyncIterator: "list",
    cabc.AsyncGenerator: "list",
    memoryview: "bytes",
    complex: "tuple[float, float]",
    range: "list[int]",
}

_plans: dict[Any, Plan] = {}
_PLANS_MAX = 4096


def plan_of(annotation: Any) -> Plan:
    """Return the plan of an annotation. Raises `Unfit` if it cannot be stored."""
    try:
        known = _plans.get(annotation)
    except TypeError:  # unhashable metadata in Annotated
        return _build(annotation, {})
    if known is None:
        known = _build(annotation, {})
        if len(_plans) < _PLANS_MAX:
            _plans[annotation] = known
    return known


def forget_plans() -> None:
    """Let go of the plans of annotations; those in use stay with their codecs."""
    _plans.clear()


def register(annotation: Any) -> None:
    """Allow the classes that `annotation` reaches in values without annotation."""
    for plan in reachable(plan_of(annotation)):
        cls = plan.base if isinstance(plan, (EnumScalar, TuplePlan)) else getattr(plan, "cls", None)
        if cls is not None and cls is not tuple and not isinstance(plan, TypedDictPlan):
            know(cls, plan_of(cls))


def decoder_of(annotation: Any, plan: Plan) -> msgspec.json.Decoder[Any] | None:
    """Return msgspec's decoder for the annotation, None if only `lift` can read it."""
    if not all(node.native for node in reachable(plan)):
        return None
    if isinstance(plan, ModelPlan):
        annotation = plan.cls
    try:
        return msgspec.json.Decoder(Any if plan is ANY else annotation, dec_hook=_read_custom)
    except TypeError:
        return None


def _read_custom(cls: Any, raw: Any) -> Any:
    try:
        return read_model(cls, raw) if hints.is_pydantic(cls) else read_text_form(cls, raw)
    except Unfit as unfit:
        raise ValueError(unfit.text) from None


# ---------------------------------------------------------------- building


def _build(annotation: Any, building: dict[Any, Plan]) -> Plan:
    if hints.is_constrained(annotation):
        # Only msgspec's decoder checks constraints, so no value may take the direct path.
        plan = _build(get_args(annotation)[0], building)
        if plan.plain:
            plan = copy.copy(plan)
            plan.plain = NOTHING
        return plan
    annotation = hints.strip(annotation)
    if annotation in (Any, object, inspect.Parameter.empty):
        return ANY
    if annotation in (None, typing.NoReturn, typing.Never):
        return SCALAR_PLANS[type(None)]
    if annotation is typing.LiteralString:
        return SCALAR_PLANS[str]
    if annotation in SCALAR_PLANS:
        return SCALAR_PLANS[annotation]
    if annotation in building:
        return building[annotation]
    origin = get_origin(annotation) or annotation
    args = get_args(annotation)
    if origin in (Union, types.UnionType):
        return _build_union(annotation, args, building)
    if origin is Literal:
        if not all(type(value) in (str, int, bool, type(None)) for value in args):
            raise Unfit(f"{hints.label(annotation)} may hold str, int, bool and None only")
        return Choice(args)
    if isinstance(origin, type):
        return _build_container(annotation, origin, args, building) or _build_class(
            annotation, origin, building
        )
    if isinstance(annotation, (str, typing.ForwardRef)):
        raise Unfit(f"the name {hints.label(annotation)!r} stands for no type here; pass the type")
    raise Unfit(f"{hints.label(annotation)} is not a type that can be stored")


def _build_container(
    annotation: Any, origin: Any, args: tuple[Any, ...], building: dict[Any, Plan]
) -> Plan | None:
    label = hints.label(annotation)
    if origin in _LISTS:
        return ListPlan(label, _item(args, building), list, _LISTS[origin])
    if origin in _SETS:
        base, accepted = _SETS[origin]
        return SetPlan(label, _item(args, building), base, accepted)
    if origin in _DICTS:
        key, value = args or (Any, Any)
        return _build_dict(label, key, _build(value, building), building)
    if origin is tuple:
        if annotation is tuple or args[-1:] == (Ellipsis,):
            return ListPlan(label, _item(args, building), tuple, (tuple,))
        plan = TuplePlan(label)
        plan.items = tuple(_build(arg, building) for arg in args)
        return plan
    return None


def _item(args: tuple[Any, ...], building: dict[Any, Plan]) -> Plan:
    return _build(args[0], building) if args else ANY


def _build_dict(label: str, key: Any, value: Plan, building: dict[Any, Plan]) -> Plan:
    plan = _build(key, building)
    if plan is ANY or (isinstance(plan, Scalar) and plan.base is str):
        return DictPlan(label, SCALAR_PLANS[str], None, value)
    one_kind = len(plan.kinds - {"int"}) <= 1 and not plan.kinds & {"null", "bool"}
    is_key = isinstance(plan, (Scalar, EnumScalar, Choice)) and plan.native
    if not (one_kind and is_key):
        raise Unfit(f"{label}: a {plan.label} cannot be a key in JSON; use a list of pairs")
    return DictPlan(label, plan, key, value)


def _build_class(annotation: Any, origin: type[Any], building: dict[Any, Plan]) -> Plan:
    label = hints.label(annotation)
    if issubclass(origin, Enum):
        return _build_enum(label, origin)
    if hints.is_pydantic(origin):
        root = origin.model_fields.get("root")
        return ModelPlan(label, origin, None if root is None else _kinds(root.annotation, building))
    plan: ObjectPlan | TuplePlan
    if hints.is_named_tuple(origin):
        plan = TuplePlan(label, origin)
    elif issubclass(origin, msgspec.Struct):
        plan = StructPlan(label, origin)
    elif typing.is_typeddict(origin):
        plan = TypedDictPlan(label, origin)
    elif hints.is_dataclass(origin) or hints.is_attrs(origin):
        plan = ObjectPlan(label, origin)
    else:
        raise _unsupported(label, origin)
    building[annotation] = plan
    try:
        _complete(plan, annotation, building)
    finally:
        del building[annotation]
    return plan


def _kinds(annotation: Any, building: dict[Any, Plan]) -> frozenset[str]:
    try:
        return _build(annotation, building).kinds
    except Unfit:  # a type of pydantic's own
        return ANY.kinds


def _complete(plan: ObjectPlan | TuplePlan, annotation: Any, building: dict[Any, Plan]) -> None:
    try:
        fields = hints.fields_of(annotation)
    except TypeError as exc:
        raise Unfit(str(exc)) from exc
    plans: list[Plan] = []
    for field in fields:
        try:
            plans.append(_build(field.annotation, building))
        except Unfit as unfit:
            raise unfit.at(f".{field.name}") from None
    if isinstance(plan, ObjectPlan):
        plan.complete(fields, tuple(plans))
    else:
        plan.items = tuple(plans)
        plan.names = tuple(f.name for f in fields)
        plan.defaults = tuple(f.default for f in fields if not f.required)


def _unsupported(label: str, origin: type) -> Unfit:
    if origin in _INSTEAD:
        return Unfit(f"{label} cannot be stored; annotate {_INSTEAD[origin]}")
    if issubclass(origin, BaseException):
        return Unfit(f"{label} is an exception; raise it instead of returning it")
    return Unfit(
        f"{label} cannot be stored; use a dataclass, a msgspec Struct, a pydantic model "
        "or plain data"
    )


# ---------------------------------------------------------------- unions


def _build_union(annotation: Any, args: tuple[Any, ...], building: dict[Any, Plan]) -> Plan:
    label = hints.label(annotation)
    members: list[Plan] = []
    for arg in args:
        plan = _build(arg, building)
        if plan is ANY:
            return ANY
        members.extend(plan.members if isinstance(plan, UnionPlan) else (plan,))
    members = list(dict.fromkeys(members))
    union = UnionPlan(label, members)
    for one, other in combinations(members, 2):
        if not _distinct(one, other):
            raise Unfit(
                f"{label} is ambiguous: {one.label} and {other.label} look alike in JSON; "
                "use msgspec Structs with tag=True, or one class with a Literal field"
            )
    return union


def _distinct(one: Plan, other: Plan) -> bool:
    common = one.kinds & other.kinds
    if common == INT and (isinstance(one, FloatScalar) or isinstance(other, FloatScalar)):
        return True  # floats are always written with a point or exponent
    if not common:
        return True
    if isinstance(one, StructPlan) and isinstance(other, StructPlan):
        a, b = one.config, other.config
        if a.tag is not None and b.tag is not None and a.tag_field == b.tag_field:
            return bool(a.tag != b.tag)
    classes = (ObjectPlan, ModelPlan)
    if common == OBJECT and isinstance(one, classes) and isinstance(other, classes):
        return bool(one.required - other.keys) and bool(other.required - one.keys)
    return False


# ---------------------------------------------------------------- enums


def _build_enum(label: str, cls: type[Enum]) -> Plan:
    kinds = {class_of(member.value) for member in cls}
    if not kinds:
        raise Unfit(f"enum {label} has no members")
    if kinds in ({str}, {int}):
        return EnumScalar(cls)
    return MixedEnum(label, cls)


class MixedEnum(EnumScalar):
    """An Enum of other values, which msgspec cannot read; written as if without annotation."""

    __slots__ = ("by_value",)

    def __init__(self, label: str, base: type[Enum]) -> None:
        self.base = base
        self.by_value: dict[bytes, Enum] = {}
        kinds: set[str] = set()
        for member in base:
            try:
                lowered = ANY.lower(member.value)
            except Unfit as unfit:
                raise Unfit(f"enum {label} cannot be stored: {unfit}") from None
            kinds.add(kind_of(lowered))
            self.by_value[write(lowered)] = member
        Plan.__init__(self, label, frozenset(kinds), native=False)

    def lower(self, value: Any) -> Any:
        if not isinstance(value, self.base):
            raise self.misfit(value)
        return ANY.lower(value.value)

    def lift(self, raw: Any) -> Any:
        try:
            return self.by_value[write(raw)]
        except KeyError:
            raise Unfit(f"{raw!r:.80} is not a value of enum {self.label}") from None
