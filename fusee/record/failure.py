"""Exceptions as bytes: class by name, message, args, attributes, notes, causes, traceback.

Nothing is pickled and no constructor runs on the way back, so keyword-only constructors
and formatted messages survive. Encoding never fails and never hides the error it is
about: what cannot be stored becomes its repr in place, what is too long is cut with a
note. `fusee.record.rebuild` is the way back.
"""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any, cast

import msgspec

from fusee.base.errors import DecodeError, StepCancelled, StepFailed
from fusee.base.limits import (
    ERROR_CHAIN_MAX,
    ERROR_TEXT_BYTES_MAX,
    MIB,
    TRACEBACK_BYTES_MAX,
)
from fusee.record.plan import class_of
from fusee.record.rebuild import decode_failure, is_error
from fusee.record.recorded import (
    FAILURE_TAG,
    TEXT_MARK,
    TRACEBACK_MARK,
    Recorded,
    cut,
    is_builtin,
    members_of,
    name_of_class,
    repr_of,
    text_of,
)
from fusee.record.scalars import write
from fusee.record.tags import ANY, KEY

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["decode_failure", "describe_failure", "encode_failure", "is_error"]

_BYTES_MAX = 1 * MIB
"""After this many bytes the texts of one failure are cut to `_SHORT`."""
_SHORT = 256
_EXCEPTIONS_MAX = 100
_ITEMS_MAX = 100
_FRAMES_MAX = 100
_CANCELLED = "asyncio.exceptions:CancelledError"
_STEP_FAILED = name_of_class(StepFailed)


class _Summary(msgspec.Struct):
    type: str = ""
    text: str = ""
    state: dict[str, Any] = {}


_read_summary = msgspec.json.Decoder(_Summary).decode


def encode_failure(exc: BaseException) -> bytes:
    """Return the recorded form of an exception. Never raises."""
    try:
        return write(_Recorder().record(_as_error(exc), 0))
    except BaseException as bad:
        text = f"{text_of(exc)} (not recorded in full: {type(bad).__name__})"
        return write(Recorded(type=name_of_class(type(exc)), text=cut(text, ERROR_TEXT_BYTES_MAX)))


def describe_failure(data: bytes | memoryview) -> tuple[str, str]:
    """Return the class as "module:qualname" and the message, without rebuilding anything."""
    try:
        summary = _read_summary(data)
    except Exception as exc:
        raise DecodeError(f"not a recorded failure: {exc}") from exc
    kind = summary.state.get("type")
    if summary.type == _STEP_FAILED and isinstance(kind, str) and kind:
        return kind, summary.text
    return summary.type, summary.text


def _as_error(exc: BaseException) -> BaseException:
    """Return what to record for an exception that would act on the code it is raised in."""
    if any(name_of_class(cls) == _CANCELLED for cls in type(exc).__mro__):
        error: Exception = StepCancelled(
            "the step raised CancelledError though nobody had cancelled it"
            + (f": {text_of(exc)}" if exc.args else ""),
            spontaneous=True,
        )
    elif isinstance(exc, (StopIteration, StopAsyncIteration)):
        # As PEP 479 has it: raised into a coroutine, these would end it in silence.
        error = RuntimeError(f"the step raised {type(exc).__name__}")
        error.__cause__ = exc
    else:
        return exc
    return error.with_traceback(exc.__traceback__)


class _Recorder:
    """Records one exception and all it refers to, within bounds."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._kept: list[BaseException] = []
        self._left = _BYTES_MAX

    def record(self, exc: BaseException, depth: int) -> Recorded:
        """Return the form of `exc`; `depth` counts the exceptions that lead to it."""
        if id(exc) in self._numbers:
            return Recorded(same_as=self._numbers[id(exc)])
        number = self._numbers[id(exc)] = len(self._numbers) + 1
        self._kept.append(exc)  # an id means something only while its object lives
        cls = class_of(exc)
        notes, old_traceback, old_text = _notes_of(exc)
        deeper = depth + 1 < ERROR_CHAIN_MAX and number < _EXCEPTIONS_MAX
        node = Recorded(
            type=name_of_class(cls),
            text=self._cut(old_text or text_of(exc)),
            number=number,
            bases=[name_of_class(c) for c in cls.__mro__[1:_ITEMS_MAX] if c not in _OBVIOUS],
            notes=[self._cut(note) for note in notes],
            traceback=_traceback_of(exc, old_traceback),
        )
        self._left -= len(node.traceback)
        it: Any = exc  # what isinstance narrows has its own opinion of the arguments
        args: Iterable[Any] = exc.args
        children: tuple[BaseException, ...] = ()
        if isinstance(exc, BaseExceptionGroup):
            children = cast("BaseExceptionGroup[BaseException]", exc).exceptions
            args = (cast("BaseExceptionGroup[BaseException]", exc).message,)
        # From here on the order is that of the rebuilder, which meets the same numbers.
        node.args = [self._item(item, depth, deeper) for item in tuple(args)[:_ITEMS_MAX]]
        if children:
            node.group = self._group(children, depth, node) if deeper else []
        if deeper:
            if exc.__cause__ is not None:
                node.cause = self.record(exc.__cause__, depth + 1)
            elif exc.__context__ is not None and not exc.__suppress_context__:
                node.context = self.record(exc.__context__, depth + 1)
        node.suppress = exc.__suppress_context__
        node.state = {
            name: self._item(item, depth, deeper) for name, item in _state_of(it)[:_ITEMS_MAX]
        }
        return node

    def _group(
        self, children: tuple[BaseException, ...], depth: int, node: Recorded
    ) -> list[Recorded]:
        out: list[Recorded] = []
        for child in children:
            if len(self._numbers) >= _EXCEPTIONS_MAX:
                node.notes.append(f"{len(children) - len(out)} more exceptions were left out")
                break
            out.append(self.record(child, depth + 1))
        return out

    def _item(self, value: Any, depth: int, deeper: bool) -> Any:
        if isinstance(value, BaseException):
            if deeper or id(value) in self._numbers:
                return {KEY: (FAILURE_TAG, self.record(value, depth + 1))}
            return self._cut(repr_of(value))
        if type(value) is str:
            return self._cut(value)
        try:
            data = write(ANY.lower(value))
        except Exception:
            return self._cut(repr_of(value))
        if len(data) > min(self._left, ERROR_TEXT_BYTES_MAX):
            return self._cut(repr_of(value))
        self._left -= len(data)
        return msgspec.Raw(data)

    def _cut(self, text: str) -> str:
        text = cut(text, max(_SHORT, min(self._left, ERROR_TEXT_BYTES_MAX)))
        self._left -= len(text)
        return text


_OBVIOUS = (Exception, BaseException, object)


def _state_of(exc: BaseException) -> list[tuple[str, Any]]:
    state = [
        (name, value)
        for name, value in list(exc.__dict__.items())
        if type(name) is str and name != "__notes__" and name.isprintable()
    ]
    cls = type(exc)
    for name, member in members_of(cls).items():
        try:
            value = member.__get__(exc, cls)
        except BaseException:  # an empty slot
            continue
        # A C field is None until it is set; a slot that is None was set so.
        if value is not None or not is_builtin(member.__objclass__):
            state.append((name, value))
    return state


def _notes_of(exc: BaseException) -> tuple[list[str], str, str]:
    """Return the user's notes, and traceback and message kept by an earlier recording."""
    notes: list[str] = []
    old_traceback = old_text = ""
    found: Any = getattr(exc, "__notes__", None)
    if not isinstance(found, list):
        return notes, "", ""
    for note in cast("list[Any]", found)[:_ITEMS_MAX]:
        text = note if type(note) is str else repr_of(note)
        if text.startswith(TRACEBACK_MARK):
            old_traceback = text.removeprefix(TRACEBACK_MARK)
        elif text.startswith(TEXT_MARK):
            old_text = text.removeprefix(TEXT_MARK)
        else:
            notes.append(text)
    return notes, old_traceback, old_text


def _traceback_of(exc: BaseException, old: str) -> str:
    try:
        frames = traceback.extract_tb(exc.__traceback__, limit=-_FRAMES_MAX)
        # Not as `format_list` has it: the marks under its lines differ between Pythons, and a
        # run may be recorded by one and replayed by another.
        new = "".join(
            f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}\n'
            + (f"    {frame.line}\n" if frame.line else "")
            for frame in frames
        )
    except BaseException as bad:
        new = f"<no traceback: {type(bad).__name__}>\n"
    if old and new:
        return cut(f"{old}Raised again (most recent call last):\n{new}", TRACEBACK_BYTES_MAX)
    return cut(old or new, TRACEBACK_BYTES_MAX)
