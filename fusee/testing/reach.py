"""Which steps the code of some workflows refers to: a stub for another one would never be asked.

Nobody lists the steps of a workflow; its code calls them. So its code is read: the names in it,
what they stand for, and the same again of every function, object and container found there. A step
counts as known as soon as its name is seen, or it is found itself. Code that finds functions by
names that it makes up, or that refers to very much, can call anything; then every step is known.
"""

from __future__ import annotations

import gc
import sys
from collections import deque
from difflib import get_close_matches
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from fusee.sdk.step import name_of
from fusee.sdk.workflow import Workflow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fusee.sdk.step import StepSpec

LOOKED_AT_MAX: Final = 20_000
NAMED_MAX: Final = 10
DYNAMIC: Final = frozenset(
    {
        "__dict__",
        "__import__",
        "attrgetter",
        "entry_points",
        "eval",
        "exec",
        "getattr",
        "globals",
        "import_module",
        "methodcaller",
        "vars",
    }
)
"""Names in code that may find any function."""
_HOLDERS: Final = ("builtins", "functools", "collections", "types")
"""Where the classes of the standard library are that only hold what is the user's."""
_INSTALLED: Final = ("/site-packages/", "/dist-packages/", "\\site-packages\\")


def check_known(spec: StepSpec, workflows: Iterable[Workflow[Any, Any]]) -> None:
    """Raise ValueError unless the code of a workflow refers to a step."""
    looked = _Look(spec)
    if looked.finds([workflow.fn for workflow in workflows]):
        return
    found = {_last(name): name for name in sorted(looked.functions)}
    close = get_close_matches(_last(spec.name), found, n=3, cutoff=0.5)
    told = [*close, *(word for word in found if word not in close)][:NAMED_MAX]
    names = ", ".join(repr(found[word]) for word in told) or "none"
    raise ValueError(
        f"no workflow of this simulator refers to step {spec.name!r}, so nothing would ever call "
        f"its stub; the functions that they refer to: {names}"
    )


class _Look:
    """A search for one step."""

    def __init__(self, spec: StepSpec) -> None:
        self.functions: set[str] = set()
        """Names of the functions that were found where something calls a step."""
        self._name = spec.name
        fn: Any = spec.fn
        while hasattr(fn, "func"):  # Of a partial.
            fn = fn.func
        self._step = getattr(fn, "__func__", fn)
        self._words = DYNAMIC | {_last(name_of(fn))}
        self._package = _top(getattr(fn, "__module__", None))

    def finds(self, roots: Iterable[Any]) -> bool:
        """Whether the step may be among what these functions refer to."""
        todo = deque(roots)
        seen: dict[int, Any] = {}
        while todo:
            thing = todo.popleft()
            if id(thing) in seen or self._is_foreign(thing):
                continue
            seen[id(thing)] = thing  # Kept, or its place might be taken by another object.
            if self._is_it(thing) or len(seen) > LOOKED_AT_MAX:
                return True
            if isinstance(thing, FunctionType):
                for code in _codes(thing.__code__):
                    words = {*code.co_names, *code.co_freevars, *_strings(code), code.co_name}
                    if not words.isdisjoint(self._words):
                        return True
                    named = list(_named(words, thing.__globals__))
                    if "step" in words:
                        self.functions.update(name_of(f) for f in named if _is_function(f))
                    todo.extend(named)
                todo.extend(_held_by(thing))
            else:
                todo.extend(gc.get_referents(thing))
        return False

    def _is_it(self, thing: Any) -> bool:
        if thing is self._step:
            return True
        return isinstance(thing, FunctionType | type) and thing.__qualname__ == self._name

    def _is_foreign(self, thing: Any) -> bool:
        """Whether no step of a user can be in there, or it is no place to look for one."""
        if isinstance(thing, ModuleType | CodeType | str | bytes | int | float | None):
            return True
        owner = thing if isinstance(thing, FunctionType | type) else type(thing)
        module = owner.__module__
        if not isinstance(thing, FunctionType | type) and (
            module in _HOLDERS or isinstance(thing, Workflow)
        ):
            return False
        top = _top(module)
        if top in sys.stdlib_module_names or top == "fusee":
            return True
        file = getattr(sys.modules.get(module), "__file__", None) or ""
        return top != self._package and any(part in file for part in _INSTALLED)


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _top(module: str | None) -> str:
    return (module or "").partition(".")[0]


def _is_function(thing: Any) -> bool:
    return isinstance(thing, FunctionType)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Return a code and those of the functions defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _strings(code: CodeType) -> Iterator[str]:
    return (constant for constant in code.co_consts if isinstance(constant, str))


def _named(words: set[str], names: dict[str, Any]) -> Iterator[Any]:
    """Return what words of a code stand for: its module's names, and names of modules in it."""
    modules: list[ModuleType] = []
    for word in sorted(words):
        value = names.get(word, sys.modules.get(word))
        if isinstance(value, ModuleType):
            modules.append(value)
        elif value is not None:
            yield value
    seen: set[int] = set()
    while modules:
        module = modules.pop()
        if id(module) in seen:
            continue
        seen.add(id(module))
        for word in sorted(words & vars(module).keys()):
            value = vars(module)[word]
            if isinstance(value, ModuleType):
                modules.append(value)
            else:
                yield value


def _held_by(function: FunctionType) -> Iterator[Any]:
    """Return what a function holds beside its code: its closure, defaults and attributes."""
    yield from function.__closure__ or ()
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    yield from vars(function).values()
