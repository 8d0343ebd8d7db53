"""The style that a tool can check: sizes, docstrings, annotations. There is no list of exceptions.

A module over its budget holds two ideas; a function over its budget hides a branch.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.style
MODULE_LINES_MAX = 400
FUNCTION_LINES_MAX = 50
Function = ast.FunctionDef | ast.AsyncFunctionDef


def files_of(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


ALL = files_of("fusee", "tests", "examples", "bench", "sim")
PRODUCT = files_of("fusee")


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions_in(tree: ast.AST) -> list[Function]:
    return [node for node in ast.walk(tree) if isinstance(node, Function)]


def decorators_of(function: Function) -> set[str]:
    return {ast.unparse(node).rpartition(".")[2] for node in function.decorator_list}


def too_long(source: str) -> list[str]:
    found: list[str] = []
    if len(source.splitlines()) > MODULE_LINES_MAX:
        found.append(f"module has {len(source.splitlines())} lines")
    for function in functions_in(ast.parse(source)):
        assert function.end_lineno is not None
        length = function.end_lineno - function.lineno + 1
        if length > FUNCTION_LINES_MAX:
            found.append(f"line {function.lineno}: {function.name} has {length} lines")
    return found


Classes = dict[str, list[ast.ClassDef]]
"""By name; two modules may use one name."""


def classes_of(paths: list[Path]) -> Classes:
    found: Classes = {}
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(node)
    return found


def told_by_base(owner: ast.ClassDef, method: str, classes: Classes) -> bool:
    """Whether a base class documents the method: an override inherits its words."""
    names = [ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in owner.bases]
    for found in [base for name in names for base in classes.get(name, ())]:
        if found is owner:
            continue
        for node in found.body:
            if isinstance(node, Function) and node.name == method and ast.get_docstring(node):
                return True
        if told_by_base(found, method, classes):
            return True
    return False


def undocumented(source: str, classes: Classes | None = None) -> list[str]:
    tree = ast.parse(source)
    found = [] if ast.get_docstring(tree) else ["module has no docstring"]
    known = classes or {}

    def visit(body: list[ast.stmt], owner: ast.ClassDef | None) -> Iterator[str]:
        for node in body:
            if isinstance(node, ast.If):
                yield from visit(node.body + node.orelse, owner)
            if not isinstance(node, ast.ClassDef | Function) or node.name.startswith("_"):
                continue
            if isinstance(node, Function) and decorators_of(node) & {"overload", "setter"}:
                continue
            told = owner is not None and told_by_base(owner, node.name, known)
            if not ast.get_docstring(node) and not told:
                yield f"line {node.lineno}: {node.name} has no docstring"
            if isinstance(node, ast.ClassDef):
                yield from visit(node.body, node)

    return found + list(visit(tree.body, None))


def unannotated(source: str) -> list[str]:
    tree = ast.parse(source)
    bound = {
        id(function): "staticmethod" not in decorators_of(function)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for function in node.body
        if isinstance(function, Function)
    }
    found: list[str] = []
    for function in functions_in(tree):
        spec = function.args
        arguments = spec.posonlyargs + spec.args
        arguments = arguments[1:] if bound.get(id(function)) else arguments
        arguments = arguments + spec.kwonlyargs + [a for a in (spec.vararg, spec.kwarg) if a]
        missing = [argument.arg for argument in arguments if argument.annotation is None]
        missing += [] if function.returns is not None else ["return"]
        found += [f"line {function.lineno}: {function.name}: {name}" for name in missing]
    return found


@pytest.mark.parametrize("path", ALL, ids=named)
def test_modules_and_functions_fit_their_budget(path: Path) -> None:
    assert too_long(path.read_text()) == []


PRODUCT_CLASSES = classes_of(PRODUCT)


@pytest.mark.parametrize("path", PRODUCT, ids=named)
def test_everything_public_says_what_it_is_for(path: Path) -> None:
    assert undocumented(path.read_text(), PRODUCT_CLASSES) == []


@pytest.mark.parametrize("path", PRODUCT, ids=named)
def test_every_function_is_annotated(path: Path) -> None:
    assert unannotated(path.read_text()) == []


def test_the_checks_see_what_they_are_for() -> None:
    lines = "    x = 1\n" * FUNCTION_LINES_MAX
    assert too_long(f"def long():\n{lines}") == ["line 1: long has 51 lines"]
    assert too_long("x = 1\n" * (MODULE_LINES_MAX + 1)) == ["module has 401 lines"]

    source = "class Run:\n    def stop(self, now, *rest: int): ...\n    def _quiet(self): ...\n"
    assert undocumented(source) == [
        "module has no docstring",
        "line 1: Run has no docstring",
        "line 2: stop has no docstring",
    ]
    base = ast.parse('class Base:\n    def stop(self):\n        """Stop."""').body[0]
    assert isinstance(base, ast.ClassDef)
    told = undocumented(source.replace("Run:", "Run(Base):"), {"Base": [base]})
    assert "line 2: stop has no docstring" not in told

    assert unannotated(source) == [
        "line 2: stop: now",
        "line 2: stop: return",
        "line 3: _quiet: return",
    ]
