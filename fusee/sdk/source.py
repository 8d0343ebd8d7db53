"""Where in the user's code something happened: "shop.py:41 in checkout"."""

from __future__ import annotations

import os
import sys
from traceback import StackSummary
from types import CodeType, FrameType
from typing import Any

from fusee.loop.workflow_loop import WorkflowLoop

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_TURN = WorkflowLoop.turn.__code__
_STDLIB = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_INSTALLED = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)


def _is_users(frame: FrameType) -> bool:
    name = frame.f_code.co_filename
    if name.startswith(_STDLIB):
        return any(part in name for part in _INSTALLED) and not name.startswith(_OURS)
    return not name.startswith((_OURS, "<"))


def _text(frame: FrameType, line: int) -> str:
    return _place(frame.f_code, line)


def _place(code: CodeType, line: int) -> str:
    name = code.co_filename
    relative = os.path.relpath(name)
    if not relative.startswith(".."):
        name = relative
    return f"{name}:{line} in {code.co_name}"


def definition_site(fn: Any) -> str:
    """Return where a function is defined, "" when it is not written in Python."""
    code = getattr(fn, "__code__", None)
    return _place(code, code.co_firstlineno) if code is not None else ""


def call_site() -> str:
    """Return the innermost frame of user code on the present stack, "" when there is none."""
    return innermost_site(sys._getframe(1))


def innermost_site(frame: FrameType | None) -> str:
    """Return the innermost frame of user code on a stack, "" when there is none."""
    while frame is not None:
        if _is_users(frame):
            return _text(frame, frame.f_lineno)
        frame = frame.f_back
    return ""


def turn_stack(frame: FrameType | None) -> str:
    """Return the stack of a turn as tracebacks are written, from where it enters the user's code.

    The whole stack when there is none of it, or none any more.
    """
    frames: list[FrameType] = []
    entered = 0
    while frame is not None and frame.f_code is not _TURN:
        frames.append(frame)
        if _is_users(frame):
            entered = len(frames)
        frame = frame.f_back
    inner = frames[: entered or len(frames)]
    summary = StackSummary.extract((f, f.f_lineno) for f in reversed(inner))
    return "".join(summary.format())


def rest_site(where: Any) -> str:
    """Return where a task waits, or where an exception came from; "" when unknown."""
    if isinstance(where, BaseException):
        return _raise_site(where)
    if where is None:
        return ""
    coroutine = where.get_coro()
    found = ""
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None)
        if frame is None:
            break
        if _is_users(frame):
            found = _text(frame, frame.f_lineno)
        coroutine = getattr(coroutine, "cr_await", None)
    return found


def _raise_site(error: BaseException) -> str:
    trace = error.__traceback__
    found = ""
    while trace is not None:
        if _is_users(trace.tb_frame):
            found = _text(trace.tb_frame, trace.tb_lineno)
        trace = trace.tb_next
    return found
