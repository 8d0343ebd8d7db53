"""Steps as the engine sees them: a function, how its values are encoded, how it is retried.

A step is any function. `@step(...)` only fixes options; it returns the function itself, so
decorated functions stay plain functions for everyone else.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, overload

import msgspec

from fusee.base.durations import seconds
from fusee.base.names import check_name
from fusee.record.payload import Codec
from fusee.record.signature import CallSignature
from fusee.sdk.retry import Duration, Retry

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = "__fusee_step__"
SPEC = "__fusee_spec__"


class StepOptions(msgspec.Struct, frozen=True):
    """What may be set at a definition and at a call. None means "not set here"."""

    name: str | None = None
    retry: Retry | None = None
    timeout_s: float | None = None
    read_only: bool | None = None

    def over(self, below: StepOptions) -> StepOptions:
        """Return these options, with those of `below` where nothing is set here."""
        return StepOptions(
            below.name if self.name is None else self.name,
            below.retry if self.retry is None else self.retry,
            below.timeout_s if self.timeout_s is None else self.timeout_s,
            below.read_only if self.read_only is None else self.read_only,
        )


NO_OPTIONS = StepOptions()


def make_options(
    name: str | None = None,
    retry: Retry | None = None,
    timeout: Duration | None = None,
    read_only: bool | None = None,
) -> StepOptions:
    """Check options as users write them."""
    if name is not None:
        check_name(name, what="step name")
    if retry is not None and not isinstance(retry, Retry):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"retry={retry!r}: give a fusee.Retry(...)")
    timeout_s = None if timeout is None else seconds(timeout)
    if timeout_s == 0:
        raise ValueError(f"timeout={timeout!r}: a step needs time; leave it out for no limit")
    return StepOptions(name, retry, timeout_s, read_only)


@overload
def step(fn: F, /) -> F: ...
@overload
def step(
    *,
    name: str | None = None,
    retry: Retry | None = None,
    timeout: Duration | None = None,
    read_only: bool | None = None,
) -> Callable[[F], F]: ...
def step(
    fn: F | None = None,
    /,
    *,
    name: str | None = None,
    retry: Retry | None = None,
    timeout: Duration | None = None,
    read_only: bool | None = None,
) -> F | Callable[[F], F]:
    """Fix options of a step at its definition; the function itself is returned unchanged.

    name: in the journal, default the function's qualified name. retry: default none.
    timeout: of one attempt, from the function's start, default no limit. read_only: the
    function changes nothing outside the process and may run before earlier records are
    durable, and again with other inputs after a crash.
    """
    options = make_options(name, retry, timeout, read_only)

    def fix(target: F) -> F:
        if not callable(target):
            raise TypeError(f"@step decorates a function, not {target!r}")
        setattr(target, _OPTIONS, options)
        return target

    return fix if fn is None else fix(fn)


class StepSpec:
    """Everything about a step function that does not change between calls."""

    __slots__ = (
        "fn",
        "is_async",
        "name",
        "read_only",
        "result",
        "retry",
        "signature",
        "timeout_s",
    )

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        self.name = check_name(name_of(fn), what="step name")
        self.is_async = _is_async(fn)
        options: StepOptions = getattr(_innermost(fn), _OPTIONS, NO_OPTIONS)
        if options.name is not None:
            self.name = options.name
        self.retry = options.retry
        self.timeout_s = options.timeout_s
        self.read_only = bool(options.read_only)
        self.signature = CallSignature(fn, skip_first=False)
        self.result: Codec = self.signature.result_codec


def spec_of(fn: Callable[..., Any]) -> StepSpec:
    """Return the spec of a step function, built once per function object."""
    spec = getattr(fn, SPEC, None)
    # A bound method shows its function's attribute, a wrapper a copy of it: not theirs.
    if spec is not None and spec.fn is fn:
        assert isinstance(spec, StepSpec)
        return spec
    if not callable(fn):
        raise TypeError(f"a step is a function, not {fn!r}: call ctx.step(fn, *args)")
    spec = StepSpec(fn)
    # Bound methods and builtins take no attributes; theirs is built at each call.
    with contextlib.suppress(AttributeError):
        setattr(fn, SPEC, spec)
    return spec


def _innermost(fn: Callable[..., Any]) -> Callable[..., Any]:
    while isinstance(fn, functools.partial):
        fn = fn.func
    return fn


def name_of(fn: Callable[..., Any]) -> str:
    """Return a step's name: the qualified name of the function, or of the class of an object."""
    inner = _innermost(fn)
    name = getattr(inner, "__qualname__", None)
    if not isinstance(name, str):
        name = type(inner).__qualname__
    return name


def _is_async(fn: Callable[..., Any]) -> bool:
    inner = _innermost(fn)
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(
        getattr(inner, "__call__", None)  # noqa: B004 - its kind is asked, not whether it is there
    )
