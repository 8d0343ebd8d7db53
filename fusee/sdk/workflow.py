"""`@workflow`: an `async def f(ctx, *args)` that the engine can run and replay."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast, overload

from fusee.base.names import check_name
from fusee.record.signature import CallSignature
from fusee.sdk.context import Context

P = ParamSpec("P")
R = TypeVar("R")

WorkflowFunction = Callable[Concatenate[Context, P], Coroutine[Any, Any, R]]


class Workflow(Generic[P, R]):
    """A workflow definition. Pass it to `Engine.open(workflows=[...])` and to `start`."""

    def __init__(
        self,
        fn: WorkflowFunction[P, R],
        name: str | None,
        version: str,
        hold_on: tuple[type[BaseException], ...] = (),
    ) -> None:
        if not inspect.iscoroutinefunction(fn):
            raise TypeError(f"a workflow is an `async def`, {fn!r} is not")
        if "<locals>" not in fn.__qualname__ and fn.__qualname__ != fn.__name__:
            raise TypeError(f"{fn.__qualname__}: a workflow is a function, not a method")
        self.fn = fn
        self.name = check_name(fn.__name__ if name is None else name, what="workflow name")
        self.version = check_name(version, what="workflow version")
        self.hold_on = _check_hold_on(hold_on)
        self.signature = CallSignature(fn, skip_first=True)
        self.__name__ = fn.__name__
        self.__doc__ = fn.__doc__
        self.__module__ = fn.__module__
        self.__wrapped__ = fn

    def __call__(self, ctx: Context, *args: P.args, **kwargs: P.kwargs) -> Awaitable[R]:
        """Call the function itself; for use inside another workflow."""
        return self.fn(ctx, *args, **kwargs)

    def hold_reason(self, error: BaseException) -> str:
        """Return the reason for which an uncaught error holds the run, "" if it fails it."""
        cause = _first_of(error, self.hold_on)
        return f"hold_on:{type(cause).__name__}" if cause is not None else ""

    def __repr__(self) -> str:
        return f"<workflow {self.name}@{self.version}>"


def _check_hold_on(classes: tuple[type[BaseException], ...]) -> tuple[type[BaseException], ...]:
    given: Any = classes
    items = cast("tuple[Any, ...]", given) if isinstance(given, tuple) else (None,)
    if not all(isinstance(item, type) and issubclass(item, BaseException) for item in items):
        raise TypeError(f"hold_on={given!r}: a tuple of exception classes")
    return classes


def _first_of(
    error: BaseException, classes: tuple[type[BaseException], ...]
) -> BaseException | None:
    """Return the error if it is of one of the classes, or the first such error in a group."""
    if isinstance(error, classes):
        return error
    if isinstance(error, BaseExceptionGroup):
        members: tuple[BaseException, ...] = cast("Any", error).exceptions
        for member in members:
            found = _first_of(member, classes)
            if found is not None:
                return found
    return None


@overload
def workflow(fn: WorkflowFunction[P, R], /) -> Workflow[P, R]: ...
@overload
def workflow(
    *,
    name: str | None = None,
    version: str = "1",
    hold_on: tuple[type[BaseException], ...] = (),
) -> Callable[[WorkflowFunction[P, R]], Workflow[P, R]]: ...
def workflow(
    fn: WorkflowFunction[P, R] | None = None,
    /,
    *,
    name: str | None = None,
    version: str = "1",
    hold_on: tuple[type[BaseException], ...] = (),
) -> Workflow[P, R] | Callable[[WorkflowFunction[P, R]], Workflow[P, R]]:
    """Make an `async def f(ctx, *args)` a workflow.

    name: in the log, default the function's name. version: runs stay on the version they
    started with; a run whose version is not registered is held, never run on other code.
    hold_on: an uncaught error of these classes does not fail the run but holds it, for bugs
    worth mending in place: the run goes on from there when the mended code is opened.
    """

    def define(target: WorkflowFunction[P, R]) -> Workflow[P, R]:
        return Workflow(target, name, version, hold_on)

    return define if fn is None else define(fn)
