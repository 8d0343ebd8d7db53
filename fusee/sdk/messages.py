"""Typed names of messages: `Signal[bool]("review")`, `Query[None, Cart]("cart")`.

Module-level objects that sender and workflow share, so that both agree on the name and the
type checker sees a wrong value. The type argument is read when the first value is encoded.

Calls take protocols, not these classes: what sends is contravariant (a wrong value is refused
and not widened to `object`), what receives is covariant (`print(await ctx.wait_for(review))`
asks for any object).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar, get_args

from fusee.base.names import check_name
from fusee.record.payload import Codec, codec_for

T = TypeVar("T")
I = TypeVar("I")  # noqa: E741 - input, as in the documentation
O = TypeVar("O")  # noqa: E741 - output

T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)


class Sending(Protocol[T_contra]):
    """A message that takes values of a type."""

    name: str

    def encode(self, value: T_contra, /) -> bytes:
        """Return the payload of a value."""
        ...


class Receiving(Protocol[T_co]):
    """A message that brings values of a type."""

    name: str

    def decode(self, payload: bytes, /) -> T_co:
        """Return the value of a payload."""
        ...


class Asking(Protocol[T_contra, T_co]):
    """A question that takes a value and brings another."""

    name: str

    def encode(self, value: T_contra, /) -> bytes:
        """Return the payload of an input."""
        ...

    def decode(self, payload: bytes, /) -> T_co:
        """Return the answer of a payload."""
        ...


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

    def encode(self, value: T, /) -> bytes:
        """Return the payload of a value. Raises `EncodeError`, `PayloadTooLarge`."""
        return self.codec.encode(value)

    def decode(self, payload: bytes, /) -> T:
        """Return the value of a payload. Raises `DecodeError`."""
        value: T = self.codec.decode(payload)
        return value

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

    def encode(self, value: I, /) -> bytes:
        """Return the payload of an input. Raises `EncodeError`, `PayloadTooLarge`."""
        return self.codecs[0].encode(value)

    def decode(self, payload: bytes, /) -> O:
        """Return the answer of a payload. Raises `DecodeError`."""
        answer: O = self.codecs[1].decode(payload)
        return answer

    def __repr__(self) -> str:
        return f"Query({self.name!r})"


def signal_of(signal: Sending[Any] | Receiving[Any] | str) -> Signal[Any]:
    """Return a signal for a typed object or a bare name."""
    if isinstance(signal, Signal):
        return signal
    if isinstance(signal, str):
        return Signal[Any](signal)
    raise TypeError(f"{signal!r} is no signal: pass a fusee.Signal or its name")


def query_of(query: Asking[Any, Any] | str) -> Query[Any, Any]:
    """Return a query for a typed object or a bare name."""
    if isinstance(query, Query):
        return query
    if isinstance(query, str):
        return Query[Any, Any](query)
    raise TypeError(f"{query!r} is no query: pass a fusee.Query or its name")
