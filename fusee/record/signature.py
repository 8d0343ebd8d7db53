"""One call as one payload: the arguments by name, checked against the function's types.

    {"order": {...}, "retries": 3, "*": [...], "**": {...}}

Names, not positions: a parameter may move, and one that was added later takes its
default when an old call is read. No arguments are no bytes. A workflow's defaults are
written with the call, since a deploy that changes one must not change runs in progress.

Steps run later than they are called, after the record of the call is durable, so what
they receive must not follow later changes: `snapshot_call` returns what the record says.
"""

from __future__ import annotations

import copy
import functools
import inspect
import types
import typing
from collections import abc
from inspect import Parameter
from typing import TYPE_CHECKING, Any, get_args, get_origin

import msgspec

from fusee.base.errors import DecodeError, EncodeError, PayloadMismatch
from fusee.base.limits import PAYLOAD_BYTES_MAX
from fusee.record.payload import Codec, codec_for, encode_error, register_classes, too_large
from fusee.record.plan import Misfit, Unfit
from fusee.record.scalars import write
from fusee.record.tags import ANY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_VAR_POSITIONAL = "*"
_VAR_KEYWORD = "**"
_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_AWAITABLE_NAMES = ("Future", "Task")
_read_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_Placed = list[tuple["_Param", Any]]


class _Param(msgspec.Struct, frozen=True):
    name: str
    key: str
    kind: Any
    default: Any
    annotated: bool
    codec: Codec
    index: int
    """Place among the positional parameters, -1 for the others."""


def name_of(fn: Any) -> str:
    """Return the name of a callable: of what a partial wraps, of a callable object's class."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    name = getattr(fn, "__qualname__", None)
    return name if isinstance(name, str) else type(fn).__qualname__


class CallSignature:
    """The parameters and result of a workflow (`skip_first`, its context) or of a step.

    A call that does not fit raises `PayloadMismatch` for a workflow; for a step it raises
    `TypeError` as the call itself would, or `EncodeError`, which is one.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        skip_first: bool,
        name: str = "",
        limit: int = PAYLOAD_BYTES_MAX,
    ) -> None:
        self.name = name or name_of(fn)
        self.kind = "workflow" if skip_first else "step"
        self.where = f"{self.kind} {self.name!r}"
        self._limit = limit
        self._signature = _signature_of(fn, skip_first)
        self.text = f"{self.name}{self._signature}"
        resolve = _Resolver(fn, self.where)
        self._params = tuple(
            self._param(index, parameter, resolve)
            for index, parameter in enumerate(self._signature.parameters.values())
        )
        self._returns = resolve.returns(self._signature.return_annotation)
        self.result_codec: Codec = codec_for(
            self._returns, where=f"result of {self.where}", limit=limit
        )
        positional = [p for p in self._params if p.kind in _POSITIONAL]
        self._names = tuple(p.key for p in positional)
        self._positional = tuple(positional)
        self._plains = tuple(p.codec.plan.plain for p in positional)
        self._plain_shapes: set[tuple[type, ...]] = set()
        """Types of arguments seen before that need no look; bounded by the kinds of scalars."""
        self._by_name = {p.name: p for p in self._params}
        self._set_direct(keep_defaults=skip_first)
        if skip_first:
            self._register()

    def __repr__(self) -> str:
        return f"<CallSignature {self.text}>"

    def _param(self, index: int, parameter: Parameter, resolve: _Resolver) -> _Param:
        annotation = resolve(parameter.name, parameter.annotation)
        key = parameter.name
        stored = annotation
        any_type = Any if annotation is Parameter.empty else annotation
        if parameter.kind is Parameter.VAR_POSITIONAL:
            key, stored = _VAR_POSITIONAL, tuple[any_type, ...]  # type: ignore[valid-type]
        elif parameter.kind is Parameter.VAR_KEYWORD:
            key, stored = _VAR_KEYWORD, dict[str, any_type]  # type: ignore[valid-type]
        where = f"argument {parameter.name!r} of {self.where}"
        codec = codec_for(stored, where=where, limit=self._limit)
        annotated = codec.plan is not ANY and annotation is not Parameter.empty
        kind = parameter.kind
        place = index if kind in _POSITIONAL else -1
        return _Param(parameter.name, key, kind, parameter.default, annotated, codec, place)

    def _set_direct(self, *, keep_defaults: bool) -> None:
        """Set which numbers of positional arguments need no binding."""
        self._keep_defaults = keep_defaults
        needed = [p for p in self._positional if p.default is Parameter.empty]
        keyword_only = [p for p in self._params if p.kind is Parameter.KEYWORD_ONLY]
        self._most = len(self._positional)
        self._least = self._most if keep_defaults else len(needed)
        if any(keep_defaults or p.default is Parameter.empty for p in keyword_only):
            self._most = -1

    def _register(self) -> None:
        for param in self._params:
            register_classes(param.codec.annotation, where=param.codec.where)
        register_classes(self._returns, where=self.result_codec.where)

    # ------------------------------------------------------------ calls

    def encode_call(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes:
        """Return the payload of a call."""
        return self._write(self._lower(self._place(args, kwargs)))

    def check(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes:
        """Return the payload of a call that is known to be readable as the registered types."""
        data = self.encode_call(args, kwargs)
        try:
            self.decode_call(data)
        except DecodeError as exc:
            raise self._mismatch(str(exc)) from exc
        return data

    def snapshot_call(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[bytes, tuple[Any, ...], dict[str, Any]]:
        """Return the payload and the arguments to call the function with later."""
        if not kwargs and self._is_plain(args):
            if not args:
                return b"", args, kwargs
            return self._write(dict(zip(self._names, args))), args, kwargs  # noqa: B905
        placed = self._place(args, kwargs)
        lowered = self._lower(placed)
        data = self._write(lowered)
        safe = ((p, self._safe(p, value, lowered[p.key])) for p, value in placed)
        return data, *_as_call(safe)

    def decode_call(self, data: bytes | memoryview) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a recorded call. Raises `DecodeError`."""
        try:
            members = _read_members(data) if data else {}
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as exc:
            raise DecodeError(f"arguments of {self.where}: {exc}") from exc
        placed: _Placed = []
        for param in self._params:
            raw = members.get(param.key)
            if raw is not None:
                placed.append((param, param.codec.decode(bytes(raw))))
            elif param.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
                continue
            elif param.default is Parameter.empty:
                raise DecodeError(
                    f"the recorded call of {self.where} has no {param.name!r}, which "
                    f"{self.text} requires; give the parameter a default"
                )
            elif param.kind in _POSITIONAL:
                placed.append((param, param.default))
        return _as_call(placed)

    # ------------------------------------------------------------ parts

    def _is_plain(self, args: tuple[Any, ...]) -> bool:
        """Whether positional arguments fit by number and are all written as they are."""
        shape = tuple(map(type, args))
        if shape in self._plain_shapes:
            return True
        if not self._least <= len(args) <= self._most:
            return False
        if any(kind not in plain for kind, plain in zip(shape, self._plains)):  # noqa: B905
            return False
        self._plain_shapes.add(shape)
        return True

    def _place(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> _Placed:
        if not kwargs and self._least <= len(args) <= self._most:
            return list(zip(self._positional, args))  # noqa: B905 - defaults may be left out
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as exc:
            error = PayloadMismatch if self.kind == "workflow" else TypeError
            raise error(f"{exc}; {self.where} is {self.text}") from None
        placed: _Placed = [(self._by_name[name], v) for name, v in bound.arguments.items()]
        if self._keep_defaults:
            placed += [(p, p.default) for p in self._params if self._keeps(p, bound.arguments)]
            order = {id(p): index for index, p in enumerate(self._params)}
            placed.sort(key=lambda item: order[id(item[0])])
        return placed

    def _keeps(self, param: _Param, given: Mapping[str, Any]) -> bool:
        if param.name in given or param.default is Parameter.empty:
            return False
        try:
            param.codec.encode(param.default)
        except Exception:
            return False  # such a default stays the code's own
        return True

    def _lower(self, placed: _Placed) -> dict[str, Any]:
        lowered: dict[str, Any] = {}
        for param, value in placed:
            try:
                lowered[param.key] = param.codec.plan.lower(value)
            except Misfit as misfit:
                raise self._mismatch(f"{param.codec.where}: {misfit}") from misfit
            except Unfit as unfit:
                raise EncodeError(f"{param.codec.where}: {unfit}") from unfit
            except Exception as exc:
                raise encode_error(exc, param.codec.where) from exc
        return lowered

    def _write(self, lowered: dict[str, Any]) -> bytes:
        if not lowered:
            return b""
        try:
            data = write(lowered)
        except Exception as exc:
            raise encode_error(exc, f"arguments of {self.where}") from exc
        if len(data) > self._limit:
            raise too_large(len(data), self._limit, f"arguments of {self.where}")
        return data

    def _safe(self, param: _Param, value: Any, lowered: Any) -> Any:
        if type(value) in param.codec.plan.plain:
            return value
        if not param.annotated:
            try:
                return copy.deepcopy(value)
            except Exception:  # some objects refuse; the record has a copy in any case
                return param.codec.decode(write(lowered))
        try:
            return param.codec.decode(write(lowered))
        except DecodeError as exc:
            raise self._mismatch(str(exc)) from exc

    def _mismatch(self, text: str) -> Exception:
        if self.kind == "workflow":
            return PayloadMismatch(f"{text}; it is {self.text}")
        return EncodeError(f"{text}; it is {self.text}")


def _as_call(placed: Iterable[tuple[_Param, Any]]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for param, value in placed:
        if param.kind is Parameter.VAR_POSITIONAL:
            args.extend(value)
        elif param.kind is Parameter.VAR_KEYWORD:
            kwargs.update(value)
        elif param.index == len(args):
            args.append(value)
        else:  # keyword-only, or after one that was left to its default
            kwargs[param.name] = value
    return tuple(args), kwargs


# ---------------------------------------------------------------- annotations


def _signature_of(fn: Any, skip_first: bool) -> inspect.Signature:
    try:
        signature = inspect.signature(fn)
    except ValueError:  # some builtins do not tell
        signature = inspect.signature(lambda *args, **kwargs: None)
    parameters = list(signature.parameters.values())
    if skip_first and parameters and parameters[0].kind in _POSITIONAL:
        return signature.replace(parameters=parameters[1:])
    return signature


class _Resolver:
    """Turns the annotations of one callable into types, one by one so as to name the bad one."""

    def __init__(self, fn: Any, where: str) -> None:
        self._where = where
        self._class = fn if isinstance(fn, type) else None
        while isinstance(fn, functools.partial):
            fn = fn.func
        if self._class is not None:
            fn = self._class.__init__  # type: ignore[misc]
        elif not isinstance(fn, (types.FunctionType, types.MethodType, types.BuiltinFunctionType)):
            fn = type(fn).__call__ if not hasattr(fn, "__wrapped__") else fn
        inner: Any = inspect.unwrap(fn)
        self._globals: dict[str, Any] = getattr(inner, "__globals__", {})
        self._locals = {p.__name__: p for p in getattr(inner, "__type_params__", ())}

    def __call__(self, name: str, annotation: Any) -> Any:
        return self._resolve(f"parameter {name!r}", annotation)

    def returns(self, annotation: Any) -> Any:
        """Return the type of what awaiting the result gives."""
        if self._class is not None:
            return self._class
        resolved = self._resolve("the result", annotation)
        origin, args = get_origin(resolved), get_args(resolved)
        if origin is abc.Coroutine:
            return args[2]
        named = isinstance(origin, type) and origin.__name__ in _AWAITABLE_NAMES
        return args[0] if origin is abc.Awaitable or named else resolved

    def _resolve(self, what: str, annotation: Any) -> Any:
        if annotation is Parameter.empty or annotation is None:
            return annotation
        holder = types.SimpleNamespace(__annotations__={"it": annotation})
        try:
            return typing.get_type_hints(holder, self._globals, self._locals, include_extras=True)[
                "it"
            ]
        except Exception as exc:
            raise EncodeError(
                f"{self._where}: the annotation {annotation!r} of {what} cannot be resolved: "
                f"{exc}; import the name at run time, not only for type checkers"
            ) from exc
