"""The plan of an annotation: how values of it become JSON, and JSON values of it.

msgspec alone is fast but lets values change on the way: NaN becomes null, sets come in
hash order, a date in a `str` field comes back as text, a subclass as its base. A plan
looks at a value before msgspec writes it (`lower`) and refuses what would not come back.
Reading is msgspec's own typed decoder wherever it can do it (`native`); `lift` reads the
same JSON in Python for the rest, and finds the field to name when the fast way fails.

`plain` is the shortcut that makes this cheap: the exact types whose values need neither
a look nor a copy. One type test per scalar, one set comparison per list of scalars.
"""

from __future__ import annotations

import io
import types
from typing import Any, cast

NOTHING: frozenset[type] = frozenset()
SCALARS: frozenset[type] = frozenset((str, int, bool, type(None)))
"""Types that JSON holds as they are."""


class Unfit(Exception):
    """A value cannot be stored, or JSON does not fit. Collects the path while unwinding."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text
        self.path: list[str] = []

    def at(self, step: str) -> Unfit:
        """Return itself with one more step, outermost last."""
        self.path.append(step)
        return self

    def __str__(self) -> str:
        where = "".join(reversed(self.path))
        return f"{self.text} (at {where.lstrip('.')})" if where else self.text


class Misfit(Unfit):
    """The value is of another type than the annotation says."""


class Plan:
    """How one annotation is stored. Subclasses are the kinds of annotation."""

    __slots__ = ("kinds", "label", "native", "open", "plain")

    def __init__(
        self,
        label: str,
        kinds: frozenset[str],
        plain: frozenset[type] = NOTHING,
        *,
        native: bool = True,
    ) -> None:
        self.label = label
        self.kinds = kinds
        self.plain = plain
        self.native = native
        """msgspec's decoder reads this type by itself, or through our hook."""
        self.open = False
        """The JSON may hold type tags, which only `lift` understands."""

    def children(self) -> tuple[Plan, ...]:
        """Return the plans inside this one."""
        return ()

    def accepts(self, value: Any) -> bool:
        """Return whether a union should hand `value` to this plan."""
        raise NotImplementedError

    def lower(self, value: Any) -> Any:
        """Return what msgspec shall write. Raises `Unfit`."""
        raise NotImplementedError

    def lift(self, raw: Any) -> Any:
        """Return the value that the plain JSON `raw` stands for. Raises `Unfit`."""
        raise NotImplementedError

    def misfit(self, value: Any) -> Misfit:
        """Return the error for a value of another type."""
        return Misfit(f"expected {self.label}, got {describe(value)}")


def reachable(plan: Plan) -> list[Plan]:
    """Return the plan and everything inside it, each once; plans may be recursive."""
    seen: dict[int, Plan] = {}
    todo = [plan]
    while todo:
        node = todo.pop()
        if id(node) not in seen:
            seen[id(node)] = node
            todo.extend(node.children())
    return list(seen.values())


_FIXES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (types.GeneratorType, "a generator; return a list"),
    (types.AsyncGeneratorType, "an async generator; return a list"),
    (types.CoroutineType, "a coroutine; await it"),
    (io.IOBase, "an open file; return its content or its path"),
    (types.ModuleType, "a module; return what you need from it"),
    (
        (types.FunctionType, types.BuiltinFunctionType, types.MethodType),
        "a function; return the data it works on",
    ),
    (type, "a class; return an instance or its name"),
    (BaseException, "an exception; raise it"),
    ((map, filter, zip, enumerate, reversed), "an iterator; return a list"),
    (memoryview, "a memoryview; return bytes"),
    (complex, "a complex number; return two floats"),
    (range, "a range; return a list"),
)
_LOCKS = ("_thread", "threading", "_multiprocessing", "multiprocessing.synchronize")


def usual_fix(value: Any) -> str | None:
    """Return what a value is and what to do instead, for what is often returned by mistake."""
    for cls, text in _FIXES:
        if isinstance(value, cls):
            return text
    cls = class_of(value)
    if cls.__module__ in _LOCKS:
        return f"a {cls.__name__}, which only means something in this process; leave it out"
    return None


def describe(value: Any) -> str:
    """Return what a value is, with the fix where there is a usual one."""
    cls = class_of(value)
    name = cls.__qualname__ if cls.__module__ == "builtins" else class_name(cls).replace(":", ".")
    return "None" if value is None else usual_fix(value) or name


def class_of(value: Any) -> type[Any]:
    """Return `type(value)`, which type checkers take for less than it is."""
    return cast("type[Any]", type(value))


def class_name(cls: type) -> str:
    """Return a class as "module:qualname"."""
    return f"{cls.__module__}:{cls.__qualname__}"
