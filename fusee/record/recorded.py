"""The form in which an exception is kept, and the small helpers both sides of it need.

    Recorded = type, text, args, state, notes, traceback, cause, context, group

`args` and `state` hold values in the form of payloads without annotation. An exception
among them, such as `RetriesExhausted.last`, is a tag ["failure", Recorded]. Exceptions
are numbered as they are met, and a second meeting is only the number: so `last` and
`__cause__` are one object again, and cycles end.
"""

from __future__ import annotations

from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any

import msgspec

from fusee.base.limits import NAME_BYTES_MAX
from fusee.record.plan import class_name

TRACEBACK_MARK = "Recorded traceback (most recent call last):\n"
"""How the note begins that stands for the lost `__traceback__`."""
TEXT_MARK = "Recorded message: "
"""How the note begins that keeps a message which the rebuilt exception does not say."""
FAILURE_TAG = "failure"
BASES_ATTRIBUTE = "_fusee_bases"
"""Where a StepFailed keeps the names of the lost class's bases, for `is_error`."""

_HEAP_TYPE = 1 << 9
# AttributeError.obj and NameError.name: `obj` may be anything, even what holds the world.
_SKIPPED = frozenset(("obj", "exceptions", "args"))


class Recorded(msgspec.Struct, omit_defaults=True, rename={"number": "n"}):
    """One exception. With `same_as` it is one that was met before, and the rest is empty."""

    type: str = ""
    text: str = ""
    number: int = 0
    bases: list[str] = []
    args: list[Any] = []
    state: dict[str, Any] = {}
    notes: list[str] = []
    traceback: str = ""
    cause: Recorded | None = None
    context: Recorded | None = None
    suppress: bool = False
    group: list[Recorded] | None = None
    same_as: int = 0


def members_of(cls: type) -> dict[str, Any]:
    """Return the descriptors of slots and C fields, by name: state outside of `__dict__`."""
    found: dict[str, Any] = {}
    for klass in cls.__mro__:
        for name, member in vars(klass).items():
            if isinstance(member, (MemberDescriptorType, GetSetDescriptorType)):
                ours = bool(klass.__flags__ & _HEAP_TYPE)
                if not name.startswith("__") and (ours or name not in _SKIPPED):
                    found.setdefault(name, member)
    return found


def name_of_class(cls: type) -> str:
    """Return a class as "module:qualname", whatever its metaclass does."""
    try:
        return cut(class_name(cls), NAME_BYTES_MAX * 4)
    except BaseException:
        return "builtins:Exception"


def is_builtin(cls: type) -> bool:
    """Return whether the class is written in C."""
    return not cls.__flags__ & _HEAP_TYPE


def clean(text: str) -> str:
    """Return the text without lone surrogates."""
    return text.encode("utf-8", "backslashreplace").decode()


def cut(text: str, limit: int) -> str:
    """Return the text in at most `limit` bytes, with a note if it was longer."""
    text = clean(text)
    if len(text) * 4 <= limit:
        return text
    data = text.encode()
    if len(data) <= limit:
        return text
    note = f" ... (cut: it had {len(data)} bytes)"
    return data[: max(limit - len(note), 0)].decode("utf-8", "ignore") + note


def text_of(exc: BaseException) -> str:
    """Return `str(exc)`, whatever its `__str__` does."""
    try:
        return clean(str(exc))
    except BaseException as bad:
        return f"<no message: {type(exc).__name__}.__str__ raised {type(bad).__name__}>"


def repr_of(value: Any) -> str:
    """Return `repr(value)`, whatever its `__repr__` does."""
    try:
        return clean(repr(value))
    except BaseException as bad:
        return f"<{type(value).__name__}, whose __repr__ raised {type(bad).__name__}>"
