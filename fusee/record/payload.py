"""Codecs: values to payload bytes and back, exactly or not at all.

A payload is JSON, so that any tool can show it; `None` is no bytes at all. What the code
of a workflow receives is always what a replay would decode, never the object that went
in: so `roundtrip` returns both. Immutable scalars are their own decoding and take a
direct path. The rules for every type are in docs/internals/payloads.md.

`where` names the value in errors, for example "result of step 'fetch'".
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from fusee.base.errors import DecodeError, EncodeError, PayloadTooLarge
from fusee.base.limits import PAYLOAD_BYTES_MAX
from fusee.record import schema
from fusee.record.hints import label as label_of
from fusee.record.plan import Plan, Unfit, reachable
from fusee.record.scalars import write
from fusee.record.tags import MARK

if TYPE_CHECKING:
    from collections.abc import Callable

_read_plain = msgspec.json.Decoder().decode


class Codec:
    """How values of one annotation are stored. Made by `codec_for`.

    `encode(value) -> bytes` raises `EncodeError` or `PayloadTooLarge`;
    `decode(data) -> value` raises `DecodeError`; `roundtrip(value)` is both, with the
    errors of `encode`.
    """

    __slots__ = ("annotation", "decode", "encode", "label", "plan", "roundtrip", "where")

    def __init__(self, annotation: Any, plan: Plan, where: str, limit: int) -> None:
        self.annotation = annotation
        self.label = label_of(annotation)
        self.plan = plan
        self.where = where
        self.encode = _encoder(plan, where, limit)
        read = _reader(annotation, plan)
        self.decode = _decoder(read, plan, self.label, where)
        self.roundtrip = _roundtripper(read, plan, where, limit)

    def __repr__(self) -> str:
        return f"<Codec of {self.label} for {self.where}>"


def codec_for(annotation: Any, *, where: str, limit: int = PAYLOAD_BYTES_MAX) -> Codec:
    """Return the codec of an annotation; `inspect.Parameter.empty` and Any are the same.

    Raises `EncodeError` if no value of the annotation could be stored, or if a stored
    value could be read in two ways.
    """
    try:
        return _cached_codec(annotation, where, limit)
    except TypeError as exc:
        if isinstance(exc, EncodeError):
            raise
        return _make_codec(annotation, where, limit)  # unhashable metadata in Annotated


def _make_codec(annotation: Any, where: str, limit: int) -> Codec:
    try:
        plan = schema.plan_of(annotation)
    except Unfit as unfit:
        raise EncodeError(f"{where}: {unfit}") from unfit
    except RecursionError as exc:
        raise EncodeError(
            f"{where}: the annotation refers to itself through a type alias; use a class, or Any"
        ) from exc
    return Codec(annotation, plan, where, limit)


_cached_codec = lru_cache(maxsize=4096)(_make_codec)


def forget_codecs() -> None:
    """Let go of what was worked out for classes that may be gone; it is worked out again.

    For who makes the same classes over and over, as a simulator does that imports modules anew.
    """
    _cached_codec.cache_clear()
    schema.forget_plans()


def register_classes(annotation: Any, *, where: str) -> None:
    """Allow the classes that an annotation reaches in values without annotation.

    Call it for what is registered before any run goes on: a class known only since some
    step was called once would be unknown to the replay.
    """
    try:
        schema.register(annotation)
    except Unfit as unfit:
        raise EncodeError(f"{where}: {unfit}") from unfit


# ---------------------------------------------------------------- the three functions


def _encoder(plan: Plan, where: str, limit: int) -> Callable[[Any], bytes]:
    plain, lower = plan.plain, plan.lower

    def encode(value: Any) -> bytes:
        """Return the payload of `value`."""
        try:
            if type(value) not in plain:
                value = lower(value)
            if value is None:
                return b""
            data = write(value)
        except Exception as exc:
            raise encode_error(exc, where) from exc
        if len(data) > limit:
            raise too_large(len(data), limit, where)
        return data

    return encode


def _reader(annotation: Any, plan: Plan) -> Callable[[bytes | memoryview], Any]:
    decoder = schema.decoder_of(annotation, plan)
    if decoder is None:
        return lambda data: plan.lift(_read_plain(data))
    native = decoder.decode
    if not any(node.open for node in reachable(plan)):
        return native

    def read(data: bytes | memoryview) -> Any:
        if MARK in bytes(data):
            return plan.lift(_read_plain(data))
        return native(data)

    return read


def _decoder(
    read: Callable[[bytes | memoryview], Any], plan: Plan, label: str, where: str
) -> Callable[[bytes | memoryview], Any]:
    def decode(data: bytes | memoryview) -> Any:
        """Return the value of a payload."""
        try:
            return read(data or b"null")
        except Exception as exc:
            raise _decode_error(exc, data, plan, label, where) from exc

    return decode


def _roundtripper(
    read: Callable[[bytes | memoryview], Any], plan: Plan, where: str, limit: int
) -> Callable[[Any], tuple[bytes, Any]]:
    plain, lower = plan.plain, plan.lower

    def roundtrip(value: Any) -> tuple[bytes, Any]:
        """Return the payload of `value` and what it decodes to."""
        immutable = type(value) in plain
        try:
            lowered = value if immutable else lower(value)
            data = b"" if lowered is None else write(lowered)
        except Exception as exc:
            raise encode_error(exc, where) from exc
        if len(data) > limit:
            raise too_large(len(data), limit, where)
        if immutable:
            return data, value
        try:
            return data, read(data or b"null")
        except Exception as exc:
            if isinstance(exc, MemoryError):
                raise
            text = _why_unread(exc, data, plan)
            raise EncodeError(f"{where}: the value would not come back: {text}") from exc

    return roundtrip


# ---------------------------------------------------------------- errors


def encode_error(exc: Exception, where: str) -> Exception:
    """Return the error to raise for what went wrong while encoding."""
    if isinstance(exc, MemoryError):
        return exc
    if isinstance(exc, UnicodeEncodeError):
        text = (
            "the text holds a lone surrogate, which is no Unicode; "
            "store bytes from .encode('utf-8', 'surrogateescape')"
        )
    elif isinstance(exc, RecursionError):
        text = "the value refers to itself or is nested too deeply; flatten it"
    elif isinstance(exc, ValueError) and "integer string conversion" in str(exc):
        text = "the int has too many digits to be written as text; store it as bytes or hex"
    else:
        text = str(exc)
    return EncodeError(f"{where}: {text}")


def large_payload(what: str, size: int) -> str:
    """Return the warning about a payload that is allowed but slow to carry around."""
    return (
        f"{what} is {size:,} bytes; every replica keeps it for as long as its run, so put large "
        "documents into a store of their own and pass their key"
    )


def too_large(size: int, limit: int, where: str) -> PayloadTooLarge:
    """Return the error for a payload over the limit."""
    return PayloadTooLarge(
        f"{where} is {size} bytes, over the limit of {limit}; "
        "store it elsewhere and pass a reference",
        size=size,
        limit=limit,
        where=where,
    )


def _decode_error(
    exc: Exception, data: bytes | memoryview, plan: Plan, label: str, where: str
) -> Exception:
    if isinstance(exc, MemoryError):
        return exc
    return DecodeError(f"{where}: cannot be read as {label}: {_why_unread(exc, data, plan)}")


def _why_unread(exc: Exception, data: bytes | memoryview, plan: Plan) -> str:
    text = str(exc)
    if isinstance(exc, RecursionError):
        text = "nested too deeply"
    elif isinstance(exc, msgspec.ValidationError):
        # msgspec names neither enum nor class; the slow way finds both, if it fails too.
        try:
            plan.lift(_read_plain(data or b"null"))
        except Unfit as unfit:
            text = str(unfit)
        except Exception:
            text = str(exc)
    return text
