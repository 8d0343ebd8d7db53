"""What annotations say: resolved, stripped of wrappers, generics filled in.

`typing.get_type_hints` resolves names but leaves the type variables of `Page[Item]`
open; a plan needs the real types. So the owner of every field is looked up in the MRO
and its variables are replaced by what the subclass or alias gave them. A variable that
stays open means "anything".

Pydantic and attrs are never imported: who uses them has imported them already, and
their classes are known by their attributes.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import typing
from typing import Annotated, Any, Final, ForwardRef, NamedTuple, TypeVar, get_args, get_origin

import msgspec

_WRAPPERS = (Annotated, Final, typing.ClassVar, typing.Required, typing.NotRequired)
_PARAMETERS = ("ParamSpec", "ParamSpecArgs", "ParamSpecKwargs", "TypeVarTuple")
_NO_DEFAULT: Any = msgspec.NODEFAULT


class Field(NamedTuple):
    """One field of a class: its name here, its name in JSON, its type and default."""

    name: str
    key: str
    annotation: Any
    required: bool
    default: Any = _NO_DEFAULT
    factory: Any = _NO_DEFAULT


def strip(annotation: Any) -> Any:
    """Return what is left without Annotated, NewType, Final and type aliases."""
    while True:
        if get_origin(annotation) in _WRAPPERS:
            annotation = get_args(annotation)[0]
        elif get_origin(annotation) is typing.Unpack:
            return Any
        elif hasattr(annotation, "__supertype__"):
            annotation = annotation.__supertype__
        elif type(annotation).__name__ == "TypeAliasType":
            annotation = annotation.__value__
        elif type(get_origin(annotation)).__name__ == "TypeAliasType":
            alias = get_origin(annotation)
            annotation = alias.__value__[get_args(annotation)]
        elif type(annotation).__name__ in _PARAMETERS:
            return Any
        elif isinstance(annotation, TypeVar):
            annotation = annotation.__bound__ or Any
        else:
            return annotation


def is_constrained(annotation: Any) -> bool:
    """Return whether the annotation carries constraints of msgspec."""
    if get_origin(annotation) is not Annotated:
        return False
    return any(isinstance(extra, msgspec.Meta) for extra in get_args(annotation)[1:])


def is_dataclass(cls: Any) -> bool:
    """Return whether `cls` is a standard dataclass."""
    return isinstance(cls, type) and dataclasses.is_dataclass(cls)


def is_attrs(cls: Any) -> bool:
    """Return whether `cls` is an attrs class."""
    return isinstance(cls, type) and "__attrs_attrs__" in cls.__dict__


def is_pydantic(cls: Any) -> bool:
    """Return whether `cls` is a pydantic v2 model (pydantic dataclasses are dataclasses)."""
    return (
        isinstance(cls, type)
        and hasattr(cls, "__pydantic_validator__")
        and hasattr(cls, "model_fields")
    )


def is_named_tuple(cls: Any) -> bool:
    """Return whether `cls` was made by NamedTuple or namedtuple."""
    return hasattr(cls, "_fields") and isinstance(cls, type) and issubclass(cls, tuple)


def fields_of(annotation: Any) -> tuple[Field, ...]:
    """Return the fields of a class or of a generic class with its arguments.

    Raises `TypeError` if an annotation cannot be resolved or a field cannot be stored.
    """
    cls = get_origin(annotation) or annotation
    hints = _class_hints(annotation)
    if issubclass(cls, msgspec.Struct):
        return tuple(
            Field(f.name, f.encode_name, hints[f.name], f.required, f.default, f.default_factory)
            for f in msgspec.structs.fields(cls)
        )
    if is_attrs(cls):
        return tuple(_attrs_field(a, hints) for a in cls.__attrs_attrs__)
    if is_dataclass(cls):
        if any(isinstance(h, dataclasses.InitVar) for h in hints.values()):
            raise TypeError(f"{cls.__qualname__} has InitVar fields, which are not kept")
        return tuple(_dataclass_field(f, hints) for f in dataclasses.fields(cls))
    if is_named_tuple(cls):
        defaults = cls._field_defaults
        return tuple(
            Field(n, n, hints.get(n, Any), n not in defaults, defaults.get(n, _NO_DEFAULT))
            for n in cls._fields
        )
    required = cls.__required_keys__
    return tuple(Field(n, n, hint, n in required) for n, hint in hints.items())


def _dataclass_field(f: dataclasses.Field[Any], hints: dict[str, Any]) -> Field:
    default = _NO_DEFAULT if f.default is dataclasses.MISSING else f.default
    factory = _NO_DEFAULT if f.default_factory is dataclasses.MISSING else f.default_factory
    required = default is _NO_DEFAULT and factory is _NO_DEFAULT
    return Field(f.name, f.name, hints.get(f.name, Any), required, default, factory)


def _attrs_field(attribute: Any, hints: dict[str, Any]) -> Field:
    attr = sys.modules["attr"]
    name, default = attribute.name, attribute.default
    annotation = hints.get(name, Any)
    if default is attr.NOTHING:
        return Field(name, name, annotation, required=True)
    if isinstance(default, attr.Factory):
        if default.takes_self:
            raise TypeError(f"the default of {name!r} needs the instance (takes_self)")
        return Field(name, name, annotation, required=False, factory=default.factory)
    return Field(name, name, annotation, required=False, default=default)


def _class_hints(annotation: Any) -> dict[str, Any]:
    cls = get_origin(annotation) or annotation
    try:
        hints = typing.get_type_hints(cls, include_extras=True)
    except Exception as exc:
        raise TypeError(f"the annotations of {cls.__qualname__} cannot be resolved: {exc}") from exc
    filled = _variables(annotation)
    if not filled:
        return hints
    owners = {
        name: klass for klass in reversed(cls.__mro__) for name in inspect.get_annotations(klass)
    }
    if not hasattr(cls, "__orig_bases__") or not owners:
        return hints
    # The MRO of a TypedDict is just dict: its own parameters serve all of its fields.
    typed_dict = typing.is_typeddict(cls)
    return {
        name: substitute(hint, filled.get(cls if typed_dict else owners.get(name, cls), {}))
        for name, hint in hints.items()
    }


def _variables(annotation: Any) -> dict[type, dict[Any, Any]]:
    """Return what each generic class in the ancestry has for its type variables."""
    found: dict[type, dict[Any, Any]] = {}
    todo = [annotation]
    while todo:
        alias = todo.pop()
        cls = get_origin(alias) or alias
        parameters = getattr(cls, "__parameters__", ())
        mapping = dict(zip(parameters, get_args(alias), strict=False))
        if mapping:
            found[cls] = mapping
        for base in getattr(cls, "__orig_bases__", ()):
            if get_origin(base) not in (None, typing.Generic, typing.Protocol):
                todo.append(substitute(base, mapping))
            elif get_origin(base) is None and isinstance(base, type):
                todo.append(base)
    return found


def substitute(hint: Any, mapping: dict[Any, Any]) -> Any:
    """Return the hint with type variables replaced; open ones become Any."""
    if isinstance(hint, TypeVar):
        return mapping.get(hint, hint)
    parameters = getattr(hint, "__parameters__", ())
    if not parameters or isinstance(hint, type):
        return hint
    return hint[tuple(mapping.get(p, p) for p in parameters)]


def label(annotation: Any) -> str:
    """Return how the annotation is called in messages."""
    if annotation is None or annotation is type(None):
        return "None"
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation.__qualname__
    if isinstance(annotation, ForwardRef):
        return annotation.__forward_arg__
    return str(annotation).replace("typing.", "")
