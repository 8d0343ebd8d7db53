"""Answering queries from the present state of a run's code.

A handler reads; it may not call operations. One that wakes code of its run all the same (it
sets an event, starts a task) has changed what replay will not repeat. Then the caller gets
`ReadOnlyViolation` and the run is `spoiled`: its owner takes it out of memory and replays it
from its journal, which knows nothing of the query.
"""

from __future__ import annotations

import inspect
from asyncio import _get_running_loop, _set_running_loop
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fusee.base.errors import PayloadError, QueryFailed, ReadOnlyViolation, UnknownHandler

if TYPE_CHECKING:
    from contextvars import Context as VarContext

    from fusee.loop.workflow_loop import WorkflowLoop
    from fusee.sdk.messages import Query


class Queries:
    """The query handlers of one loaded run."""

    __slots__ = ("_handlers", "_loop", "_variables", "answering", "spoiled")

    def __init__(self, loop: WorkflowLoop, variables: VarContext) -> None:
        self._loop = loop
        self._variables = variables
        self._handlers: dict[str, tuple[Query[Any, Any], Callable[..., Any]]] = {}
        self.answering = False
        """A handler runs: operations are refused."""
        self.spoiled = False
        """A handler has changed the run; only replay gives its true state back."""

    def register(self, query: Query[Any, Any], handler: Callable[..., Any]) -> None:
        """Register a handler; the latest of a name serves."""
        if inspect.iscoroutinefunction(handler):
            raise TypeError(f"the handler of {query!r} is async; a query answers at once: use def")
        self._handlers[query.name] = (query, handler)

    def clear(self) -> None:
        """Forget all handlers: the code they belong to is gone."""
        self._handlers.clear()

    def answer(self, workflow: str, name: str, payload: bytes) -> bytes:
        """Return the answer as a payload. Raises what the caller shall see."""
        known = self._handlers.get(name)
        if known is None:
            names = sorted(self._handlers)
            listed = ", ".join(names) or "none"
            raise UnknownHandler(f"{workflow} has no query {name!r} (known: {listed})", names)
        query, handler = known
        given, answer = query.codecs
        args = () if payload in (b"", b"null") else (given.decode(payload),)
        try:
            value = self._ask(handler, args)
        except ReadOnlyViolation:
            raise
        except Exception as error:
            raise QueryFailed(f"query {name!r} raised {error!r}") from error
        if self.spoiled:
            raise ReadOnlyViolation(
                f"the handler of query {name!r} woke code of its run: a query reads, it changes "
                "nothing; the run was taken back to its recorded state"
            )
        try:
            return answer.encode(value)
        except PayloadError as error:
            # The caller's argument is fine, which the bare error would leave open.
            raise QueryFailed(
                f"query {name!r} gave an answer that cannot be sent: {error}"
            ) from error

    def _ask(self, handler: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Call a handler as code of this run."""
        host = _get_running_loop()
        self.answering = True
        _set_running_loop(self._loop)
        try:
            return self._variables.copy().run(handler, *args)
        finally:
            _set_running_loop(host)
            self.answering = False
            if self._loop.ready:
                self.spoiled = True
