"""Errors as refusals: which word on the wire stands for which error."""

from __future__ import annotations

from fusee.admin.messages import RefusalKind, Refused
from fusee.base.errors import (
    Backlogged,
    DecodeError,
    EncodeError,
    EngineStopped,
    MessageError,
    Overloaded,
    PayloadError,
    ReadOnlyViolation,
    RunHeld,
    RunNotFound,
    StorageFull,
    UnknownHandler,
    WorkflowFinished,
)
from fusee.record.recorded import text_of

# The first that fits counts, so subclasses come before what they derive from.
_KINDS: tuple[tuple[type[BaseException], RefusalKind], ...] = (
    (RunNotFound, RefusalKind.NOT_FOUND),
    (WorkflowFinished, RefusalKind.FINISHED),
    (Backlogged, RefusalKind.BACKLOGGED),
    (Overloaded, RefusalKind.OVERLOADED),
    (StorageFull, RefusalKind.STORAGE_FULL),
    (RunHeld, RefusalKind.HELD),
    (UnknownHandler, RefusalKind.UNKNOWN_HANDLER),
    (EngineStopped, RefusalKind.STOPPED),
    (EncodeError, RefusalKind.FAILED),  # What the handler returned is no payload.
    (DecodeError, RefusalKind.INVALID),
    (PayloadError, RefusalKind.INVALID),
    (MessageError, RefusalKind.FAILED),
    (ReadOnlyViolation, RefusalKind.FAILED),
    (ValueError, RefusalKind.INVALID),
)


def refusal_of(error: BaseException) -> Refused:
    """Return the refusal that tells of an error; one of no known class is our own bug."""
    for cls, kind in _KINDS:
        if isinstance(error, cls):
            return Refused(kind, text_of(error))
    return Refused(RefusalKind.INTERNAL, f"{type(error).__name__}: {text_of(error)}")
