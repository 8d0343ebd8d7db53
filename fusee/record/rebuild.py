"""Recorded failures as exceptions again, of the same class where it is at hand.

A class is taken only from a module this process has imported already, and only if it is
an Exception: bytes from a log must not import code, nor stop the process with a
SystemExit. `__new__` makes the object, its constructor is not called. If there is no
such class, or it refuses, a `StepFailed` stands for it. Whoever raised the failure live
gets this rebuilt object too, so live and replayed code see the same.
"""

from __future__ import annotations

import sys
from types import MappingProxyType
from typing import Any, cast

import msgspec

from fusee.base.errors import DecodeError, StepFailed
from fusee.base.limits import ERROR_TEXT_BYTES_MAX
from fusee.record.plan import class_name
from fusee.record.recorded import (
    BASES_ATTRIBUTE,
    FAILURE_TAG,
    TEXT_MARK,
    TRACEBACK_MARK,
    Recorded,
    cut,
    is_builtin,
    members_of,
    name_of_class,
    text_of,
)
from fusee.record.tags import ANY, KEY

_read = msgspec.json.Decoder(Recorded).decode


def decode_failure(data: bytes | memoryview) -> Exception:
    """Return the exception that was recorded. Raises `DecodeError` for foreign bytes."""
    try:
        recorded = _read(data)
    except Exception as exc:
        raise DecodeError(f"not a recorded failure: {exc}") from exc
    try:
        return _Rebuilder().rebuild(recorded)
    except Exception:  # a class that fights back is as good as gone
        return _lost(recorded)


class _Rebuilder:
    def __init__(self) -> None:
        self._done: dict[int, Exception] = {}

    def rebuild(self, node: Recorded) -> Exception:
        """Return the exception of one node and all it refers to."""
        if node.same_as:
            return self._done.get(node.same_as) or StepFailed("recorded elsewhere")
        args = tuple(self._item(item) for item in node.args)
        exc = self._instance(node, args)
        self._done[node.number] = exc
        if node.cause is not None:
            exc.__cause__ = self.rebuild(node.cause)
        if node.context is not None:
            exc.__context__ = self.rebuild(node.context)
        exc.__suppress_context__ = node.suppress
        for name, item in node.state.items():
            self._set(exc, name, item)
        self._tell(exc, node)
        return exc

    def _instance(self, node: Recorded, args: tuple[Any, ...]) -> Exception:
        cls = find_class(node.type)
        if node.group:
            return self._group(cls, node, args)
        if cls is not None:
            exc = _bare(cls, args)
            if exc is not None:
                return exc
        return _lost(node)

    def _group(
        self, cls: type[Exception] | None, node: Recorded, args: tuple[Any, ...]
    ) -> Exception:
        children = [self.rebuild(child) for child in node.group or ()]
        message = args[0] if args and isinstance(args[0], str) else node.text
        maker: Any = cls
        if cls is not None and issubclass(cls, ExceptionGroup):
            try:
                made = maker.__new__(maker, message, children)
                if isinstance(made, Exception) and type(made) is maker:
                    return made
            except BaseException:
                pass
        group = ExceptionGroup(message, children)
        if node.type not in ("builtins:ExceptionGroup", "builtins:BaseExceptionGroup"):
            group.add_note(f"Recorded class: {node.type}")
        return group

    def _item(self, item: Any) -> Any:
        if isinstance(item, dict):
            tag: Any = cast("dict[str, Any]", item).get(KEY)
            if isinstance(tag, list) and tag[:1] == [FAILURE_TAG]:
                try:
                    return self.rebuild(msgspec.convert(tag[-1], Recorded))  # pyright: ignore[reportUnknownArgumentType]
                except msgspec.ValidationError:
                    return None
        try:
            return ANY.lift(item)
        except Exception:  # a class that is gone: the plain form says more than nothing
            return cast("Any", item)

    def _set(self, exc: Exception, name: str, item: Any) -> None:
        if isinstance(exc, StepFailed) and hasattr(type(exc), name):
            return  # a lost class may have called an attribute like a method of ours
        value = self._item(item)
        member = members_of(type(exc)).get(name)
        try:
            if member is not None:
                member.__set__(exc, value)
            else:
                exc.__dict__[name] = value
        except BaseException:  # read-only, or a type that C refuses
            return

    def _tell(self, exc: Exception, node: Recorded) -> None:
        for note in node.notes:
            exc.add_note(note)
        said = text_of(exc)
        if said != node.text and cut(said, ERROR_TEXT_BYTES_MAX) != node.text:
            exc.add_note(TEXT_MARK + node.text)
        if node.traceback:
            exc.add_note(TRACEBACK_MARK + node.traceback)


def _lost(node: Recorded) -> StepFailed:
    lost = StepFailed(node.text, type=node.type)
    lost.__dict__[BASES_ATTRIBUTE] = tuple(node.bases)
    return lost


def _bare(cls: type[Exception], args: tuple[Any, ...]) -> Exception | None:
    """Return an instance made without its constructor, None if the class refuses."""
    builtin = next(c for c in cls.__mro__ if is_builtin(c))
    for maker in (cls, builtin):
        try:
            exc: Any = cast("Any", maker).__new__(cls, *args)
            if type(exc) is cls:
                exc.args = args
                return exc
        except BaseException:
            continue
    return None


def find_class(name: str) -> type[Exception] | None:
    """Return the exception class "module:qualname" of a module imported already, or None."""
    module, _, qualname = name.partition(":")
    found = _lookup(module, qualname.split("."))
    return found if isinstance(found, type) and issubclass(found, Exception) else None


def _lookup(module: str, path: list[str]) -> Any:
    # Through __dict__ only: a module's __getattr__ may import what was not imported yet.
    found: Any = sys.modules.get(module)
    for part in path:
        members: Any = getattr(found, "__dict__", None)
        found = members.get(part) if type(members) in (dict, MappingProxyType) else None
    return found


# ---------------------------------------------------------------- is_error


def is_error(exc: BaseException, name: str) -> bool:
    """Return whether `exc` is of the class "pkg.CardError" (or "pkg:CardError"), or was.

    True for subclasses, as in an `except` clause, and for a `StepFailed` whose recorded
    class or one of its bases has the name. A package's public name serves for a class it
    defines in a private module: "stripe.CardError" for "stripe._error:CardError".
    """
    names = [name_of_class(cls) for cls in type(exc).__mro__]
    if isinstance(exc, StepFailed):
        names += [exc.type, *exc.__dict__.get(BASES_ATTRIBUTE, ())]
    wanted = _spellings(name)
    return any(_matches(known, wanted) for known in names)


def _spellings(name: str) -> list[tuple[str, str]]:
    """Return the (module, qualname) pairs the name can mean."""
    if ":" in name:
        module, _, qualname = name.partition(":")
        pairs = [(module, qualname)]
    else:
        parts = name.split(".")
        pairs = [(".".join(parts[:i]), ".".join(parts[i:])) for i in range(1, len(parts))]
        if len(parts) == 1:
            pairs = [("builtins", name)]
    for module, qualname in list(pairs):
        found = _lookup(module, qualname.split("."))
        if isinstance(found, type):
            real, _, real_qualname = class_name(found).partition(":")
            pairs.append((real, real_qualname))
    return pairs


def _matches(known: str, wanted: list[tuple[str, str]]) -> bool:
    module, _, qualname = known.partition(":")
    for asked, asked_qualname in wanted:
        if qualname != asked_qualname:
            continue
        if module == asked:
            return True
        inner = module.removeprefix(f"{asked}.")
        if inner != module and all(part.startswith("_") for part in inner.split(".")):
            return True
    return False
