"""Typed names of messages: `Signal[bool]("review")`, `Query[None, Cart]("cart")`.

Module-level objects that sender and workflow share, so that both agree on the name and the
type checker sees a wrong value. The type argument is read when the first value is encoded.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Generic, TypeVar, get_args

from fusee.base.names import check_name
from fusee.record.payload import Codec, codec_for

T = TypeVar("T")
I = TypeVar("I")  # noqa: E741 - input, as in the documentation
O = TypeVar("O")  # noqa: E741 - output


def _type_arguments(message: object, count: int) -> tuple[Any, ...]:
    """Return the arguments of `Signal[bool]("review")`, Any where it was written bare."""
    alias = getattr(message, "__orig_class__", None)
    found = get_args(alias) if alias is not None else ()
    return tuple(Any if isinstance(a, TypeVar) else a for a in found) or (Any,) * count


class Signal(Generic[T]):
    """A message into a run, without an answer. Compared and journaled by name."""

    def __init__(self, name: str) -> None:
        self.name = check_name(name, what="signal name")

    @cached_property
    def codec(self) -> Codec:
        """How values of this signal become payloads."""
        (annotation,) = _type_arguments(self, 1)
        return codec_for(annotation, where=f"signal '{self.name}'")

    def __repr__(self) -> str:
        return f"Signal({self.name!r})"


class Query(Generic[I, O]):
    """A question to a run: reads its state, changes nothing."""

    def __init__(self, name: str) -> None:
        self.name = check_name(name, what="query name")

    @cached_property
    def codecs(self) -> tuple[Codec, Codec]:
        """How the input and the answer of this query become payloads."""
        given, answer = _type_arguments(self, 2)
        where = f"query '{self.name}'"
        return codec_for(given, where=where), codec_for(answer, where=where)

    def __repr__(self) -> str:
        return f"Query({self.name!r})"


def signal_of(signal: Signal[T] | str) -> Signal[T]:
    """Return a signal for a typed object or a bare name."""
    return Signal[Any](signal) if isinstance(signal, str) else signal


def query_of(query: Query[I, O] | str) -> Query[I, O]:
    """Return a query for a typed object or a bare name."""
    return Query[Any, Any](query) if isinstance(query, str) else query
