"""Cold processes: each life runs workflows of modules that were imported for it alone.

    outside     the modules of the test        what the scenario and the stubs see
    life 1      a copy of each module          what its workflows see, in sys.modules too
    life 2      another copy

A real process begins with empty globals and caches, so a workflow that keeps something in
them behaves differently after a crash. In a simulator that reuses the test's modules it would
not, and the bug would wait for production.

Copied are the modules in which the workflows are defined, together: where one imports
another, it gets that one's copy. Modules that only hold steps or data are shared. While code of
a life runs, its copies are in `sys.modules`, so names are found as in any process; and what goes
between it and the test goes as bytes, as it would between two processes.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import module_from_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from fusee.embed.programs import Registry
from fusee.record.failure import decode_failure, encode_failure
from fusee.record.rebuild import find_class
from fusee.record.recorded import name_of_class
from fusee.sdk.workflow import Workflow
from fusee.testing.host_loop import HostLoop
from fusee.testing.threads import SimThreads

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from contextvars import Context
    from types import ModuleType

    from fusee.io.threads import OnResult

Call = tuple[tuple[Any, ...], dict[str, Any]]
_MISSING: Any = object()


class Cold:
    """Makes the copies of some workflows' modules."""

    def __init__(self, workflows: Iterable[Workflow[Any, Any]]) -> None:
        self._workflows = list(workflows)
        for workflow in self._workflows:
            _check_importable(workflow)
        names = sorted({workflow.__module__ for workflow in self._workflows})
        self._originals = {name: sys.modules[name] for name in names}

    def life(self) -> ColdRegistry:
        """Import the modules for one life; return its workflows."""
        modules = Modules(self._originals)
        modules.enter()
        try:
            for name, original in self._originals.items():
                if name not in sys.modules:  # Another one may have imported it by now.
                    _import_again(name, original)
            modules.adopt()
            copies = [_find(workflow) for workflow in self._workflows]
        finally:
            modules.leave()
        return ColdRegistry(copies, modules)


class _Place(NamedTuple):
    """What is found under the name of a module: in `sys.modules`, and in its package."""

    module: ModuleType | None
    in_package: Any


class Modules:
    """The modules of one life; in `sys.modules` between `enter` and `leave`."""

    def __init__(self, originals: dict[str, ModuleType]) -> None:
        self._names = tuple(originals)
        self._others: dict[str, _Place] = {}
        for name, original in originals.items():
            # A package may hold something else under the name, its workflow for example.
            held = _package_of(name).get(name.rpartition(".")[2], _MISSING)
            self._others[name] = _Place(None, _MISSING if held is original else held)
        self._depth = 0

    def enter(self) -> None:
        """Code of this life begins to run."""
        self._depth += 1
        if self._depth == 1:
            self._swap()

    def leave(self) -> None:
        """It has run."""
        self._depth -= 1
        if self._depth == 0:
            self._swap()

    @contextmanager
    def here(self) -> Generator[None, None, None]:
        """Let code of this life run meanwhile."""
        self.enter()
        try:
            yield
        finally:
            self.leave()

    def adopt(self) -> None:
        """Let the packages know the copies, where they knew the originals."""
        for name in self._names:
            package, child = _package_of(name), name.rpartition(".")[2]
            if child and package.get(child, _MISSING) is _MISSING:
                package[child] = sys.modules[name]

    def inside(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function that belongs to this life."""
        with self.here():
            return function(*args, **kwargs)

    def outside(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function that belongs to the test from code of this life."""
        self._swap()
        try:
            return function(*args, **kwargs)
        finally:
            self._swap()

    def _swap(self) -> None:
        for name, other in self._others.items():
            package, child = _package_of(name), name.rpartition(".")[2]
            present = _Place(sys.modules.pop(name, None), package.pop(child, _MISSING))
            if other.module is not None:
                sys.modules[name] = other.module
            if other.in_package is not _MISSING:
                package[child] = other.in_package
            self._others[name] = present


class ColdRegistry(Registry):
    """The workflows of one life."""

    def __init__(self, workflows: Iterable[Workflow[Any, Any]], modules: Modules) -> None:
        super().__init__(workflows)
        self.modules = modules

    def call(self, workflow: Workflow[Any, Any], version: str | None, given: Call) -> Call:
        """Return the arguments of a start as this life's classes. May raise what `start` does."""
        copy = self.find(workflow.name, version or workflow.version)
        if copy is None or copy is workflow:
            return given
        return copy.signature.decode_call(workflow.signature.check(*given))


class ColdLoop(HostLoop):
    """The loop of a life that has modules of its own."""

    def __init__(self, modules: Modules, *args: Any) -> None:
        super().__init__(*args)
        self.modules = modules

    def turn(self) -> None:
        """Run what is ready, among this life's modules."""
        with self.modules.here():
            super().turn()


class ColdThreads(SimThreads):
    """The threads of a life that has modules of its own."""

    def __init__(self, modules: Modules, *args: Any) -> None:
        super().__init__(*args)
        self.modules = modules

    def submit(
        self,
        function: Callable[[], Any],
        context: Context,
        on_done: OnResult,
        on_start: Callable[[], None] | None = None,
    ) -> object:
        """Do as `SimThreads.submit`, among this life's modules."""
        return super().submit(lambda: self.modules.inside(function), context, on_done, on_start)


def make_loop(registry: Registry, *args: Any) -> HostLoop:
    """Return the loop of a life with these workflows."""
    if isinstance(registry, ColdRegistry):
        return ColdLoop(registry.modules, *args)
    return HostLoop(*args)


def make_threads(registry: Registry, *args: Any) -> SimThreads:
    """Return the threads of a life with these workflows."""
    if isinstance(registry, ColdRegistry):
        return ColdThreads(registry.modules, *args)
    return SimThreads(*args)


def among(registry: Registry) -> AbstractContextManager[None]:
    """Return a context in which the code of a life with these workflows may run."""
    return registry.modules.here() if isinstance(registry, ColdRegistry) else nullcontext()


def as_here(error: BaseException) -> BaseException:
    """Return an exception as the class that has its name here, if that is another one."""
    cls = type(error)
    here = find_class(name_of_class(cls))
    if here is None or here is cls:
        return error
    return decode_failure(encode_failure(error))


def _package_of(name: str) -> dict[str, Any]:
    package = sys.modules.get(name.rpartition(".")[0])
    return {} if package is None else vars(package)


def _import_again(name: str, original: ModuleType) -> None:
    spec = original.__spec__
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)


def _check_importable(workflow: Workflow[Any, Any]) -> None:
    name, module = workflow.fn.__qualname__, sys.modules.get(workflow.__module__)
    why = ""
    if "<locals>" in name:
        why = f"{name} is defined inside a function"
    elif module is None or module.__spec__ is None or module.__spec__.loader is None:
        why = f"{workflow.__module__} is not a module that was imported"
    elif _find(workflow) is not workflow:
        why = f"another workflow has its name in {workflow.__module__}"
    if why:
        raise ValueError(
            f"Faults(cold_process=True) imports the module of workflow {workflow.name!r} anew for "
            f"each process, but {why}; define it at the top of a module that can be imported"
        )


def _find(workflow: Workflow[Any, Any]) -> Workflow[Any, Any]:
    """Return the workflow that its module, as it is here, holds in the place of this one."""
    same = (workflow.name, workflow.version, workflow.fn.__qualname__)
    found: Workflow[Any, Any]
    for found in vars(sys.modules[workflow.__module__]).values():
        if isinstance(found, Workflow) and (  # pyright: ignore[reportUnnecessaryIsInstance]
            (found.name, found.version, found.fn.__qualname__) == same
        ):
            return found
    raise ValueError(
        f"module {workflow.__module__} does not define workflow {workflow.name!r} when it is "
        "imported anew; define it at the top of the module"
    )
