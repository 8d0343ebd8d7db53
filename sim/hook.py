"""Putting a deliberate bug into the product as it is imported.

The product has no switches. A bug is a file that names a module and either one fragment of
its source and what stands there instead, or one function and its replacement. A finder in
front of all others compiles the changed source; nothing is written, no cache is read.

A fragment must match exactly once, or nobody knows what was changed. So a bug whose place in
the product has moved is an error that names both files, and never a bug that is not there.
"""

from __future__ import annotations

import ast
import sys
import textwrap
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType

    from sim.bugs import Bug


class BugDoesNotFit(Exception):
    """The product has changed under a bug: its place is gone, or is there twice."""


def changed_source(bug: Bug, source: str, path: str) -> str:
    """Return the source with the bug in it. Raises `BugDoesNotFit`."""
    if bug.function:
        return _with_function(bug, source, path)
    count = source.count(bug.fragment)
    if count != 1:
        raise BugDoesNotFit(
            f"{bug.file}: FRAGMENT matches {count} times in {path}, and must match once"
        )
    return source.replace(bug.fragment, bug.instead)


def _with_function(bug: Bug, source: str, path: str) -> str:
    """Replace one function, named "f" or "Class.f", decorators and all."""
    found = [node for name, node in _functions(ast.parse(source).body, "") if name == bug.function]
    if len(found) != 1:
        raise BugDoesNotFit(
            f"{bug.file}: FUNCTION {bug.function} is there {len(found)} times in {path}"
        )
    node = found[0]
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1
    lines = source.splitlines(keepends=True)
    indent = lines[node.lineno - 1][: node.col_offset]
    replacement = textwrap.indent(textwrap.dedent(bug.instead).strip("\n") + "\n", indent)
    return "".join([*lines[:first], replacement, *lines[node.end_lineno :]])


def _functions(
    body: Sequence[ast.stmt], prefix: str
) -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    found: list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]] = []
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append((prefix + node.name, node))
        elif isinstance(node, ast.ClassDef):
            found += _functions(node.body, f"{prefix}{node.name}.")
    return found


class _Loader(SourceFileLoader):
    """Compiles a module with a bug in it, past the cache of compiled files."""

    def __init__(self, finder: Finder, path: str) -> None:
        super().__init__(finder.bug.module, path)
        self._finder = finder

    def get_code(self, fullname: str) -> CodeType:
        source = self.get_data(self.path).decode()
        changed = changed_source(self._finder.bug, source, self.path)
        self._finder.is_applied = True
        return compile(changed, self.path, "exec", dont_inherit=True)


class Finder(MetaPathFinder):
    """Finds one module before anybody else does."""

    def __init__(self, bug: Bug) -> None:
        self.bug = bug
        self.is_applied = False
        """Whether the module was imported, with the bug."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Return the spec of the module that has the bug."""
        if fullname != self.bug.module:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None:
            raise BugDoesNotFit(f"{self.bug.file}: there is no module {fullname}")
        return spec_from_file_location(
            fullname,
            spec.origin,
            loader=_Loader(self, spec.origin),
            submodule_search_locations=spec.submodule_search_locations,
        )


def install(bug: Bug) -> Finder:
    """Put a bug into its module, which nobody may have imported yet."""
    if bug.module in sys.modules:
        raise BugDoesNotFit(
            f"{bug.file}: {bug.module} is imported already; a bug needs a fresh process"
        )
    finder = Finder(bug)
    sys.meta_path.insert(0, finder)
    return finder


def source_path(bug: Bug) -> str:
    """Return the file of the module that a bug is for, without importing the module."""
    parts = bug.module.split(".")
    path: Sequence[str] | None = None
    for depth in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:depth]), path)
        if spec is None:
            raise BugDoesNotFit(f"{bug.file}: there is no module {bug.module}")
        path = spec.submodule_search_locations
        if depth == len(parts) and spec.origin is not None:
            return spec.origin
    raise BugDoesNotFit(f"{bug.file}: {bug.module} has no source")


def check_fits(bug: Bug) -> None:
    """Raise `BugDoesNotFit` unless the bug matches and the result still compiles."""
    path = source_path(bug)
    with open(path, encoding="utf-8") as file:
        source = file.read()
    changed = changed_source(bug, source, path)
    if changed == source:
        raise BugDoesNotFit(f"{bug.file}: changes nothing")
    try:
        compile(changed, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise BugDoesNotFit(f"{bug.file}: does not compile: {error}") from error
